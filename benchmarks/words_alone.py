"""Characters and motions from words alone: 27 prompts of the kind that TC4D films, without riders.

python benchmarks/words_alone.py OUT [first [last]]      runs those that are not finished; then OUT/sheet.png of all
python benchmarks/words_alone.py OUT bodies              the same of BODIES: what does not walk on two or four legs

Each line names a body for `kinema create` and what it does: 19 walk or run, 5 swim, 3 fly. Runs are those of
`kinema animate WORDS PROMPT --preset fast`. A clip that fails is counted and the others go on. Files of BODIES are read
from KINEMA_SHARED (or ../shared/data).
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
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
BODIES = (
    ("a trout", "a trout is swimming"),
    ("a manta", "a manta ray swims"),
    ("a snake", "a snake slithers"),
    ("a pigeon", "a pigeon is flying"),
    ("a griffin", "a griffin is flying"),
    ("a dragon", "a dragon is walking"),
    ("a crab", "a crab walks sideways"),
    ("an ant", "an ant is walking"),
    ("library/assets/fish_clownfish.glb", "a clownfish is swimming"),
    ("library/broken/manta_ray.glb", "a manta ray swims"),
    ("assets/snake.glb", "a snake slithers"),
    ("assets/dolphin.glb", "a dolphin is swimming"),
    ("library/assets/m2m_bird.glb", "a bird is flying"),
    ("library/assets/m2m_dragon.glb", "a dragon is flying"),
    ("library/assets/m2m_dragon.glb", "a dragon is walking"),
    ("library/assets/quat_bat.glb", "a bat flies"),
    ("library/assets/m2m_spider.glb", "a spider is walking"),
)
"""Bodies without legs, with wings, or with many legs: from words, and files of several authors."""
SHOWN = ("gait", "wave_period", "wave_speed", "advance", "nose", "tail", "slip", "wing_period", "wing_stroke")
SHOWN += ("slide", "penetration_worst")
WIDTH = 400
"""Of a tile of the sheet [px]."""


def shared() -> Path:
    return Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))


def folder_of(out: Path, words: str, prompt: str) -> Path:
    return out / slug(f"{Path(words).stem} {prompt}" if words.endswith(".glb") else prompt)


def animate(words: str, prompt: str, folder: Path) -> str:
    """Run a clip that is not finished; what went wrong, in one line, or nothing."""
    if (folder / RESULTS[-1]).is_file():
        return ""
    resume = {"resume": folder} if (folder / "config.json").is_file() else {"out": folder}
    try:
        run(str(shared() / words) if words.endswith(".glb") else words, prompt, preset="fast", **resume)
    except Exception as error:  # the others run all the same; a failure is counted
        return f"{type(error).__name__}: {error}"
    return ""


def figures(folder: Path) -> str:
    """What a clip was read and judged as, the measures that fit its body, and which way it went (0: ahead)."""
    report = json.loads((folder / RESULTS[-1]).read_text())
    found = report["metrics"]
    away = np.diff(np.load(folder / "motion.npz")["root_position"][[0, -1]], axis=0)[0]
    parts = [report["read_as"], report["verdict"]["colour"], f"{report['cpu_seconds']:.0f} s"]
    for name in (name for name in SHOWN if name in found):
        parts.append(f"{name} {found[name]:.3g}" if isinstance(found[name], float) else f"{name} {found[name]}")
    if np.hypot(away[0], away[2]) > 1e-3:
        parts.append(f"way {np.rad2deg(np.arctan2(away[0], away[2])):.0f} deg")
    return ", ".join(parts)


def sheet(out: Path, prompts: tuple[tuple[str, str], ...]) -> Image.Image:
    tiles = []
    for words, prompt in prompts:
        folder = folder_of(out, words, prompt)
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


def main(out: Path, prompts: tuple[tuple[str, str], ...], first: int, last: int) -> None:
    for words, prompt in prompts[first - 1 : last]:
        if wrong := animate(words, prompt, folder_of(out, words, prompt)):
            print(f"words_alone.{folder_of(out, words, prompt).name} failed: {wrong}", flush=True)
    folders = [folder_of(out, words, prompt) for words, prompt in prompts]
    done = [folder for folder in folders if (folder / RESULTS[-1]).is_file()]
    for folder in done:
        print(f"words_alone.{folder.name} {figures(folder)}")
    print(f"words_alone.done {len(done)} of {len(prompts)}")
    out.mkdir(parents=True, exist_ok=True)
    partial = out / "sheet.png.part"
    sheet(out, prompts).save(partial, format="PNG", optimize=True)
    partial.replace(out / "sheet.png")


if __name__ == "__main__":
    chosen = BODIES if "bodies" in sys.argv[2:] else PROMPTS
    limits = [int(word) for word in sys.argv[2:] if word != "bodies"]
    main(Path(sys.argv[1]), chosen, *(*limits, *(1, len(chosen))[len(limits) :]))
