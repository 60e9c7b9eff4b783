"""Does `--pose-space` make clips better? `python benchmarks/pose_space.py [CHARACTER ...]`

Walks and runs of four third-party rigs (needs third-party data), each distilled twice from one seed, without and with
the pull, by the fast preset without physics. Prints per clip: frames that intersect themselves [%], jerk, and the range
of the joints that are pulled (arms, heads, tails, trunk; standard deviation of their rotation over the clip) over that
of the artist's clip of the same name: 1 is as lively as the artist. Then means, and CPU seconds.
"""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from kinema.asset.character import Character
from kinema.distill.config import Animate
from kinema.distill.pull import PosePull
from kinema.evaluate.metrics import measure
from kinema.gait.takes import load_character
from kinema.geometry.transforms import rotation_vector
from kinema.job.animate import animate
from kinema.motion.motion import Motion
from kinema.posespace.pose import Poses
from kinema.posespace.skinned import Skinned
from kinema.posespace.space import PoseSpace
from kinema.prior.load import load_prior
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig, local_rotations

SHARED = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))
CHARACTERS = {
    "husky": "clips/husky.npz", "velociraptor": "clips/velociraptor.npz", "khronos_fox": "assets/khronos_fox.glb",
    "rocketbox_woman": "library/assets/rocketbox_woman.glb",
}  # fmt: skip
WORDS = {"walk": ("walk",), "run": ("run", "gallop")}
"""What the names of an artist's clips of a motion hold."""


def ranges(rig: Rig, motion: Motion, joints: torch.Tensor) -> float:
    """Root mean square angle of the joints to their mean rotation over the clip [rad]."""
    local = local_rotations(rig, motion.angles)[:, joints]
    u, _, vt = torch.linalg.svd(local.mean(0))
    flip = torch.ones(len(u), 3)
    flip[:, 2] = torch.linalg.det(u @ vt)
    middle = u @ torch.diag_embed(flip) @ vt
    return float(rotation_vector(middle.mT @ local).square().sum(-1).mean().sqrt())


def artist_clip(character: Character, rig: Rig, name: str) -> Motion | None:
    found = [c for c in character.clips if any(word in c.name.lower() for word in WORDS[name])]
    return Motion.from_clip(rig, found[0]) if found else None


def main() -> None:
    torch.set_num_threads(1)
    prior, rows = load_prior("nano"), []
    for label in sys.argv[1:] or CHARACTERS:
        character = load_character(SHARED / CHARACTERS[label])
        anatomy, body = Anatomy.of(character), Skinned.of(character)
        joints = PosePull.of(PoseSpace.of(character), anatomy.limbs).joints
        for name in WORDS:
            artist = artist_clip(character, anatomy.rig, name)
            for on in (False, True):
                config = Animate(prompt=f"it {name}s", as_motion=name, preset="fast", physics=False, pose_space=on)
                begun = time.process_time()
                outcome = animate(replace(config, asset=label), character, prior)
                spent, motion = time.process_time() - begun, outcome.motion
                found = measure(character, motion, rig=anatomy.rig, limbs=anatomy.limbs)
                meets = 100 * float(body.intersecting(Poses.of_motion(anatomy.rig, motion)).mean())
                usual = ranges(anatomy.rig, artist, joints) if artist is not None else np.nan
                row = (meets, found.jerk, ranges(anatomy.rig, motion, joints) / usual, spent)
                rows.append((on, *row))
                words = "intersecting {:.1f} % jerk {:.0f} range {:.2f} cpu {:.0f} s".format(*row)
                print(f"pose_space.{label}.{name}.{'on' if on else 'off'} {words} gait {found.gait}", flush=True)
    for on in (False, True):
        mean = np.nanmean([row[1:] for row in rows if row[0] == on], axis=0)
        words = "intersecting {:.1f} % jerk {:.0f} range {:.2f} cpu {:.0f} s".format(*mean)
        print(f"pose_space.mean.{'on' if on else 'off'} {words}")


if __name__ == "__main__":
    main()
