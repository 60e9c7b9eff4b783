"""Draw the picture at the top of README: one row of frames per run of `kinema animate`.

python benchmarks/readme_picture.py [--out docs/results/results.png] [--runs runs/readme] [--only fox horse]

Finished runs are used as they are, interrupted ones are resumed; delete the folder to make them again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kinema.distill.config import Animate
from kinema.files import replacing
from kinema.job.animate import animate
from kinema.motion.source import CONFIG, load_result, read_config
from kinema.render.follow import Viewpoint
from kinema.render.show import FilmOptions, render_character

JOBS = {
    "fox": ("a red fox", "a fox is walking"),
    "horse": ("a brown horse", "a horse is trotting"),
    "human": ("a person", "a person is running"),
    "ostrich": ("an ostrich", "an ostrich is walking"),
}
FRAMES, WIDTH, HEIGHT = 7, 200, 150


def finished(folder: Path, asset: str, prompt: str) -> Path:
    """The folder of a run that is at its end."""
    if (folder / "report.json").is_file() and read_config(folder)["config"]["prompt"] == prompt:
        return folder
    job = Animate(resume=folder) if (folder / CONFIG).is_file() else Animate(asset, prompt, out=folder)
    return animate(job).folder


def row(folder: Path) -> Image.Image:
    """Frames from left to right under their sentence."""
    character, _, motion = load_result(folder)
    # One cycle of a gait, all of an action: frames picked over several cycles would show the same pose again and again.
    period = json.loads((folder / "report.json").read_text())["period_s"] * motion.fps
    last = min(len(motion) - 1.0, (FRAMES - 1) / FRAMES * period if period else len(motion) - 1.0)
    picked = motion[np.linspace(0, last, FRAMES).round().astype(int)]
    strip = folder / "strip.png"
    # Up to six pictures make one line of a contact sheet; a folder of frames has no such limit.
    options = FilmOptions(width=WIDTH, height=HEIGHT, viewpoint=Viewpoint(70.0))
    render_character(character, picked, strip.with_suffix(""), options=options)
    pictures = [Image.open(path) for path in sorted(strip.with_suffix("").glob("frame_*.png"))]
    line = Image.new("RGB", (FRAMES * (WIDTH + 2) - 2, HEIGHT + 20), "white")
    for index, picture in enumerate(pictures):
        line.paste(picture, (index * (WIDTH + 2), 20))
    prompt = read_config(folder)["config"]["prompt"]
    ImageDraw.Draw(line).text((4, 2), f"“{prompt}”", fill="black", font_size=14)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/results/results.png"))
    parser.add_argument("--runs", type=Path, default=Path("runs/readme"))
    parser.add_argument("--only", nargs="*", choices=tuple(JOBS), default=tuple(JOBS))
    options = parser.parse_args()
    rows = [row(finished(options.runs / name, *JOBS[name])) for name in options.only]
    sheet = Image.new("RGB", (rows[0].width, sum(line.height for line in rows)), "white")
    y = 0
    for line in rows:
        sheet.paste(line, (0, y))
        y += line.height
    with replacing(options.out) as partial:
        sheet.save(partial, format="PNG", optimize=True)
    print(options.out)


if __name__ == "__main__":
    main()
