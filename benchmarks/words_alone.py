"""Characters and motions from words alone: 27 prompts of the kind that TC4D films, without riders.

python benchmarks/words_alone.py OUT [first [last]]      runs those that are not finished; then OUT/sheet.png of all

Each line names a body for `kinema create` and what it does: 19 walk or run, 5 swim, 3 fly. Runs are those of
`kinema animate WORDS PROMPT --preset fast`.
"""

import json
import sys
from pathlib import Path

from PIL import Image, ImageDraw

from kinema.job.folder import RESULTS, run, slug

PROMPTS = (
    ("a goat", "a goat walks across a meadow"),
    ("a sheep", "a sheep is walking"),
    ("a hippo", "a hippo walks slowly"),
    ("a rhinoceros", "a rhinoceros is running"),
    ("a unicorn", "a unicorn trots"),
    ("a corgi", "a corgi is running"),
    ("a german shepherd", "a german shepherd is walking"),
    ("a dachshund", "a dachshund walks along"),
    ("a husky", "a husky runs through the snow"),
    ("an elephant", "an elephant is walking"),
    ("a giraffe", "a giraffe is walking"),
    ("a zebra", "a zebra gallops"),
    ("a bear", "a bear is walking"),
    ("a lion", "a lion walks with care"),
    ("a wolf", "a wolf is running"),
    ("an astronaut", "an astronaut is walking on the moon"),
    ("a robot", "a robot is walking"),
    ("a chicken", "a chicken is running"),
    ("a goblin", "a goblin is running"),
    ("a goldfish", "a goldfish is swimming"),
    ("a shark", "a shark swims"),
    ("a whale", "a whale is swimming in the sea"),
    ("a dolphin", "a dolphin swims fast"),
    ("a turtle", "a turtle is swimming"),
    ("a seagull", "a seagull is flying"),
    ("an eagle", "an eagle flies through the sky"),
    ("a dragon", "a dragon is flying"),
)
WIDTH = 400
"""Of a tile of the sheet [px]."""


def animate(words: str, prompt: str, folder: Path) -> None:
    if not (folder / RESULTS[-1]).is_file():
        resume = {"resume": folder} if (folder / "config.json").is_file() else {"out": folder}
        run(words, prompt, preset="fast", **resume)


def sheet(out: Path) -> Image.Image:
    tiles = []
    for words, prompt in PROMPTS:
        folder = out / slug(words)
        done = (folder / RESULTS[-1]).is_file()
        picture = (
            Image.open(folder / "contact_sheet.png").convert("RGB") if done else Image.new("RGB", (400, 300), "grey")
        )
        tile = picture.resize((WIDTH, round(WIDTH * picture.height / picture.width)))
        report = json.loads((folder / RESULTS[-1]).read_text()) if done else {}
        said = f"{prompt}: {report['verdict']['colour']}" if done else f"{prompt}: not run"
        ImageDraw.Draw(tile).text((4, 2), said, fill=(160, 0, 0))
        tiles.append(tile)
    columns, height = 4, max(tile.height for tile in tiles)
    whole = Image.new("RGB", (columns * WIDTH, -(-len(tiles) // columns) * height), "white")
    for k, tile in enumerate(tiles):
        whole.paste(tile, ((k % columns) * WIDTH, (k // columns) * height))
    return whole


def main(out: Path, first: int = 1, last: int = len(PROMPTS)) -> None:
    for words, prompt in PROMPTS[first - 1 : last]:
        animate(words, prompt, out / slug(words))
    done = 0
    for words, _ in PROMPTS:
        path = out / slug(words) / RESULTS[-1]
        if path.is_file():
            report, done = json.loads(path.read_text()), done + 1
            print(f"words_alone.{slug(words)} {report['read_as']} {report['verdict']['colour']} {report['seconds']} s")
    print(f"words_alone.done {done} of {len(PROMPTS)}")
    out.mkdir(parents=True, exist_ok=True)
    partial = out / "sheet.png.part"
    sheet(out).save(partial, format="PNG", optimize=True)
    partial.replace(out / "sheet.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(word) for word in sys.argv[2:]))
