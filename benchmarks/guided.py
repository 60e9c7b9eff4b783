"""Guided video by nano: `python benchmarks/guided.py [STRENGTH]`. Bars: refitted pose <= 8°, gait class kept >= 90 %.

Procedural gaits of five bodies are filmed as point maps, noised to the strength (0.5), denoised to words that name no
motion, and joints are refitted. Prints the mean angle between the motion's joints and the refitted ones, and the gait
before and after. Strength 0 is the error of the fit itself.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.job.film import GuidedFilm, film
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

CLIPS = (
    ("fox", "walk"), ("fox", "trot"), ("horse", "walk"), ("horse", "gallop"), ("person", "walk"), ("person", "run"),
    ("ostrich", "run"), ("wolf", "trot"),
)  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    strength, away, kept = float(sys.argv[1]) if sys.argv[1:] else 0.5, [], []
    for body, gait in CLIPS:
        character = creature(body)
        assert character.skeleton is not None
        motion, _ = make_motion(Rig.from_skeleton(character.skeleton), find_limbs(character), gait, frames=36, fps=24.0)
        with tempfile.TemporaryDirectory() as folder:
            options = GuidedFilm(f"a photo of a {body} in the snow", strength=strength, size=(2, 48, 64))
            report = film(options, character, motion, Path(folder))
        away.append(report["difference_deg"])
        kept.append(report["gait_before"] == report["gait_after"])
        gaits = f"{report['gait_before']} -> {report['gait_after']}"
        print(f"guided.{body}.{gait} {away[-1]:.1f} deg, {gaits}", flush=True)
    print(f"guided.all {np.mean(away):.1f} deg, gait kept {100 * np.mean(kept):.0f} % of {len(CLIPS)}")


if __name__ == "__main__":
    main()
