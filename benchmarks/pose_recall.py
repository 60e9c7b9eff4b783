"""How many of an artist's poses the video prior knows: `python benchmarks/pose_recall.py [--clips N] [RIG ...]`.

Poses are distilled on rigs of `gait/held_out.txt`, which no training sees, by the code of `kinema collect-poses`; they
are measured and thrown away. A pose of the artist counts as known where one of them, or its mirror image, is within
8 %: root mean square distance of the joints, root over its place and without heading, in per cent of the longest side
of the body (`near`), and of its height, which is stricter for all that is longer than high (`of_height`). Per kind of
clip and kind of body, beside the share that the pose at rest alone knows. Needs third-party data.
"""

import argparse
import json
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from kinema.asset.character import Character
from kinema.collect.clips import different, poses_of_clip
from kinema.collect.distilled import distil
from kinema.gait.takes import HELD_OUT, Take, load_character, read_takes
from kinema.motion.motion import Motion
from kinema.posespace.body import Body
from kinema.posespace.pose import Poses
from kinema.posespace.skinned import Skinned
from kinema.prior.nano.prior import NanoPrior
from kinema.rig.limbs import find_limbs

SHARED = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))
RIGS = (
    "husky", "quat_wolf", "khronos_fox", "velociraptor", "uac_viking_female", "sketchbook_boxman", "godot_player",
    "quat_alien", "rocketbox_woman", "quat_chick", "cube_chicken", "quat_piranha", "gdquest_beetle_bot", "quat_slime",
)  # fmt: skip
NEAR = 8.0
MOST = 24
"""Poses of a clip."""


def artists(character: Character, body: Skinned, takes: list[Take]) -> tuple[Poses, list[str]]:
    """Poses of all clips that the vocabulary has a word for, and the motion of each."""
    named = {take.clip: take.name for take in takes}
    parts, names = [], []
    for clip in character.clips:
        if clip.name in named:
            parts.append(different(poses_of_clip(body, Motion.from_clip(body.rig, clip), most=MOST)))
            names += [named[clip.name]] * len(parts[-1])
    return Poses.cat(parts), names


def nearest(body: Skinned, real: Poses, found: Poses) -> np.ndarray:
    """Distance of each real pose to the nearest found one [m]."""
    x, y = (p.place(body.rig)[..., 3].flatten(1).double() for p in (real, found))
    return (torch.cdist(x, y).amin(1) / len(body.rig.parents) ** 0.5).numpy()


def both_sides(character: Character, poses: Poses) -> Poses:
    """The poses and their mirror images, as the training sees them, where the body has two sides."""
    body = Body.of(character)
    off = np.abs(body.heads[:, 0] - body.heads[0, 0]) > 0.02 * body.scale
    paired = body.partners != np.arange(len(off))
    whole = bool((paired | ~off).all())
    return Poses.cat([poses, poses.mirrored(body.partners.tolist())]) if whole else poses


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rigs", nargs="*")
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--weights", type=Path, help="of nano")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON lines, one per rig and motion")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    prior = NanoPrior.load(asked.weights)
    takes = defaultdict(list)
    for take in read_takes(SHARED, leave_out=()):
        takes[take.file.stem].append(take)
    rows = []
    for name in asked.rigs or RIGS:
        assert name in HELD_OUT, f"{name}: may be trained on"
        if not takes[name]:
            print(f"# {name}: no clips that the vocabulary has a word for", flush=True)
            continue
        character = load_character(takes[name][0].file)
        body, family = Skinned.of(character), find_limbs(character).body
        real, motions = artists(character, body, takes[name])
        parts = distil(prior, character, asked.clips, np.random.default_rng(asked.seed))
        if not parts:
            print(f"# {name}: the prior knows nothing of a {family}", flush=True)
            continue
        found = Poses.cat([p for p, _ in parts])
        size = np.ptp(character.mesh.vertices, axis=0)
        far = 100 * nearest(body, real, both_sides(character, found))
        rest = 100 * nearest(body, real, Poses.rest(body.rig))
        own = 100 * body.intersecting(real).mean()
        print(
            f"# {name}, {family}: {len(real)} poses of the artist, {own:.0f} % intersect; {len(found)} distilled",
            flush=True,
        )
        for motion in sorted(set(motions)):
            at = np.array(motions) == motion
            known = {"near": far[at] / size.max() <= NEAR, "of_height": far[at] / size[1] <= NEAR,
                     "rest": rest[at] / size.max() <= NEAR}  # fmt: skip
            row = {"rig": name, "family": family, "motion": motion, "poses": int(at.sum())}
            rows.append(row | {key: 100 * float(value.mean()) for key, value in known.items()})
            if asked.out is not None:
                with asked.out.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
        show([row for row in rows if row["rig"] == name], name)
    for key in ("motion", "family"):
        for value in sorted({row[key] for row in rows}):
            show([row for row in rows if row[key] == value], value)
    show(rows, "all")


def show(rows: list[dict], name: str) -> None:
    """Means over poses."""
    weights = [row["poses"] for row in rows]
    for key in ("near", "of_height", "rest"):
        print(f"pose_recall.{name}.{key} {np.average([row[key] for row in rows], weights=weights):.3g}", flush=True)


if __name__ == "__main__":
    main()
