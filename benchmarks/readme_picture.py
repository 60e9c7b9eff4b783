"""Film the moving picture at the top of README: runs of `kinema animate`, side by side, each in its own loop.

python benchmarks/readme_picture.py [--out docs/results/results.webp] [--runs runs/readme] [--preset fast]

Finished runs are used as they are, interrupted ones are resumed; delete the folder to make them again.
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kinema.distill.config import Animate
from kinema.files import replacing
from kinema.job.folder import run
from kinema.motion.loop import repeat
from kinema.motion.source import CONFIG, load_result, read_config
from kinema.render.follow import Viewpoint
from kinema.render.show import FilmOptions, render_character

JOBS = {
    "fox": ("a red fox", "a fox is walking"),
    "ostrich": ("an ostrich", "an ostrich is walking"),
    "human": ("a person", "a person is walking"),
    "spider": ("a spider", "a spider is walking"),
}
SECONDS, FPS, WIDTH, HEIGHT, CAPTION = 4.0, 15, 240, 200, 22


def finished(folder: Path, asset: str, prompt: str, preset: str) -> Path:
    """The folder of a run that is at its end."""
    if (folder / "report.json").is_file() and read_config(folder)[0].prompt == prompt:
        return folder
    job = Animate(resume=folder) if (folder / CONFIG).is_file() else Animate(asset, prompt, out=folder, preset=preset)
    return run(job).folder


def frames(folder: Path) -> list[Image.Image]:
    """So many seconds of a run, as often as its loop goes into them."""
    character, _, motion = load_result(folder)
    times = int(np.ceil(SECONDS * motion.fps / (len(motion) - 1)))
    film = folder / "readme"
    options = FilmOptions(width=WIDTH, height=HEIGHT, viewpoint=Viewpoint(60.0))
    longer = repeat(motion, times).resample(FPS)[: round(SECONDS * FPS)]
    render_character(character, longer, film, options=options)
    pictures = []
    for path in sorted(film.glob("frame_*.png")):
        picture = Image.new("RGB", (WIDTH, HEIGHT + CAPTION), "white")
        picture.paste(Image.open(path), (0, CAPTION))
        prompt = read_config(folder)[0].prompt
        ImageDraw.Draw(picture).text((6, 3), f"“{prompt}”", fill="black", font_size=14)
        pictures.append(picture)
    return pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/results/results.webp"))
    parser.add_argument("--runs", type=Path, default=Path("runs/readme"))
    parser.add_argument("--only", nargs="*", choices=tuple(JOBS), default=tuple(JOBS))
    parser.add_argument("--preset", default="default")
    options = parser.parse_args()
    films = [frames(finished(options.runs / name, *JOBS[name], options.preset)) for name in options.only]
    whole = []
    for pictures in zip(*films):
        picture = Image.new("RGB", (len(films) * (WIDTH + 4) - 4, HEIGHT + CAPTION), "white")
        for k, part in enumerate(pictures):
            picture.paste(part, (k * (WIDTH + 4), 0))
        whole.append(picture)
    with replacing(options.out) as partial:
        first, *rest = whole
        first.save(partial, "WEBP", save_all=True, append_images=rest, duration=round(1000 / FPS), loop=0, quality=70)
    print(f"{options.out}: {len(whole)} frames, {options.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
