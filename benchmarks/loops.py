"""Compare each clip as a loop with the same clip unlooped: slide, jerk and how well the ends meet.

python benchmarks/loops.py [--out runs/loops] [--shared ../shared] [--only husky ...]

Each clip is distilled once with the fast preset; its state stays in the folder and is not distilled again. Both forms
are then planted and simulated as `kinema animate` does it, and written as GLB, which benchmarks/hover.py can measure.

Jerk is counted per second³ of the clip as it was asked for: the loop is up to half a frame shorter or longer than that,
which is taken out.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from kinema.distill.config import Animate, resolve
from kinema.distill.loop import Distiller
from kinema.distill.prompt import read_prompt, told
from kinema.distill.tempo import read_tempo
from kinema.evaluate.metrics import measure
from kinema.export.write import write
from kinema.files import make_folder
from kinema.job.animate import DISTILLED, make_stage
from kinema.job.feet import follow_physics, plant_feet, settle
from kinema.motion.motion import Motion
from kinema.motion.source import find_character
from kinema.prior.nano.prior import NanoPrior
from kinema.rig.anatomy import Anatomy

CLIPS = (
    ("fox", "walking"), ("wolf", "running"), ("horse", "walking"), ("bear", "walking"), ("human", "walking"),
    ("robot", "running"), ("ostrich", "walking"), ("husky.glb", "running"), ("velociraptor.glb", "walking"),
    ("khronos_fox.glb", "walking"),
)  # fmt: skip
BAR = 1.1
"""Slide and jerk of a loop, relative to the unlooped clip."""
LEAST_SLIDE = 0.01
"""Slide below which a difference is noise [of the body's speed]."""


@dataclass(frozen=True)
class Found:
    """One form of a clip."""

    gait: str
    slide: float
    jerk: float
    frames: int


def seam_jerk(anatomy: Anatomy, motion: Motion) -> float:
    """Jerk over the seam of a loop, relative to its RMS within [1]."""
    place = motion.pose(anatomy.rig).double()[..., 3]
    shape = (place - place[:, :1]).numpy()
    third = np.sqrt(np.square(np.diff(np.concatenate((shape[:-1], shape[:4])), n=3, axis=0)).sum(-1).mean(-1))
    return float(third[-4:].max() / np.sqrt(np.square(third).mean()))


def compare(asset: str, verb: str, prior: NanoPrior, out: Path, *, physics: bool) -> bool:
    """Print one row; True if the loop keeps what the clip has."""
    noun = Path(asset).stem.split("_")[-1]
    asked = Animate(asset=asset, prompt=f"the {noun} is {verb}", preset="fast", physics=physics)
    config, character = resolve(asked), find_character(asset)
    anatomy = Anatomy.of(character)
    reading = read_prompt(config, prior, anatomy.limbs.body)
    stage, tempo = make_stage(config, character, anatomy, prior), read_tempo(config, prior, anatomy, reading)
    folder = make_folder(out / f"{Path(asset).stem}-{verb}")
    distiller = Distiller(told(config, prior, reading), prior, stage, anatomy, tempo, checkpoint=folder / DISTILLED)
    distiller.run()
    rows, meets, seam = {}, 0.0, 0.0
    for loop in (False, True):
        distiller.config = replace(distiller.config, loop=loop)
        job = replace(config, loop=loop)
        clips = {"distilled": distiller.motion()}
        clips["planted"], stance = plant_feet(job, character, anatomy, clips["distilled"])
        if (tracked := follow_physics(job, anatomy, clips["planted"], stance, lambda _: None, None)) is not None:
            clips["physics"] = settle(job, character, anatomy, clips["planted"], stance, tracked.motion)
        rows[loop] = {}
        for name, motion in clips.items():
            found = measure(character, motion, rig=anatomy.rig, limbs=anatomy.limbs)
            # Seconds of the cycle as the clip has it; the measured period may be some per cent off.
            at, fps = distiller.clip_times()
            own = tempo.period / (float(at[1] - at[0]) * fps)
            jerk = found.jerk * (own / found.period) ** 3 if found.period else found.jerk * own**3
            rows[loop][name] = Found(found.gait, found.slide, jerk, len(motion))
        last = list(clips.values())[-1]
        if loop:
            meets, seam = float((last.angles[-1] - last.angles[0]).abs().max()), seam_jerk(anatomy, last)
        write(folder / f"{'loop' if loop else 'plain'}.glb", character, last)
    fair = True  # of the last form, which is the result
    for name, plain in rows[False].items():
        looped = rows[True][name]
        worse = max(looped.slide, LEAST_SLIDE) / max(plain.slide, LEAST_SLIDE), looped.jerk / plain.jerk
        fair = max(worse) <= BAR
        print(
            f"{folder.name:22} {name:10} {plain.frames:4d} {looped.frames:4d}  {plain.gait:7} {looped.gait:7}"
            f" slide {100 * plain.slide:5.2f} {100 * looped.slide:5.2f}  jerk {plain.jerk:6.0f} {looped.jerk:6.0f}"
            f"  {100 * worse[1] - 100:+5.1f} %", flush=True,
        )  # fmt: skip
    print(
        f"{'':22} ends meet within {np.rad2deg(meets):.3f} deg, jerk at the seam {seam:.2f} of the clip's", flush=True
    )
    return fair and meets < 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/loops"))
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--only", nargs="*", help="names of characters")
    parser.add_argument("--no-physics", dest="physics", action="store_false")
    options = parser.parse_args()
    torch.set_num_threads(1)
    prior = NanoPrior.load()
    good, clips = 0, [clip for clip in CLIPS if not options.only or Path(clip[0]).stem in options.only]
    for asset, verb in clips:
        path = str(options.shared / "data" / "assets" / asset) if asset.endswith(".glb") else asset
        good += compare(path, verb, prior, options.out, physics=options.physics)
    print(f"{good} of {len(clips)}: slide and jerk within 10 % of the unlooped clip, ends meet")


if __name__ == "__main__":
    main()
