"""Poses of clips on their own rigs: artists' and captured ones (not those of `gait/held_out.txt`), and procedural ones.

Kept are frames that differ, on the ground where the clip stands, and without new intersections.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.create.creatures import random_creature
from kinema.gait.kinds import LIKE
from kinema.gait.make import make_motion
from kinema.gait.plan import GaitBody
from kinema.gait.takes import T_POSE, Take, load_character, read_takes
from kinema.gait.vocabulary import vocabulary
from kinema.motion.motion import Motion
from kinema.posespace.body import Body
from kinema.posespace.pose import Poses
from kinema.posespace.shards import BodyPoses
from kinema.posespace.skinned import Skinned
from kinema.prior.nano.actor import BODIES, FAMILIES, draw_motion
from kinema.rig.limbs import find_limbs

HANGS, SINKS = 0.25, 0.02
"""Heights over and under the ground, in heights of the body, from which on a whole clip is moved to the ground."""
SAME = 0.02
"""Root mean square of the rotations' change up to which two poses are one."""
MOST_PER_CLIP, MOST_PER_BODY = 24, 1200
"""Poses that are taken of a clip and of a body."""
MOTIONS, POSES = 12, 6
"""Motions that one creature does, and poses that are taken of each."""
ACTION_FPS = 3.0
"""Poses per second of an action."""


def poses_of_clip(body: Skinned, motion: Motion, *, most: int) -> Poses:
    """At most so many poses of a clip, evenly in time, as high over the ground as the clip has them.

    Joints that leave their sockets are put back, and the root takes up the height that this would change.
    """
    count = min(most, len(motion))
    chosen = motion.at(torch.linspace(0, len(motion) - 1, count))
    poses = Poses.of_motion(body.rig, chosen)
    low = body.lowest(chosen.pose(body.rig))
    poses = Poses(poses.rotations, poses.height + low - body.lowest(poses.place(body.rig)))
    return on_ground(body, poses, low)


def on_ground(body: Skinned, poses: Poses, low: Float[Tensor, "poses"] | None = None) -> Poses:
    """All poses of a clip moved down or up to the ground together, if it hangs over it or sinks in; `low` are the
    heights of their lowest points, where those are known."""
    low = body.lowest(poses.place(body.rig)) if low is None else low
    height = float(body.vertices[:, 1].amax() - body.vertices[:, 1].amin())
    floor = float(low.quantile(0.1))
    hangs = floor < -SINKS * height or floor > HANGS * height
    return Poses(poses.rotations, poses.height - floor) if hangs else poses


def different(poses: Poses) -> Poses:
    """Without poses that hardly differ from one before: root mean square of the rotations' change."""
    kept: list[int] = []
    flat = poses.rotations.flatten(1)
    for k in range(len(poses)):
        if not kept or float((flat[kept] - flat[k]).square().mean(1).sqrt().min()) > SAME:
            kept.append(k)
    return poses[kept]


def keep(body: Skinned, motion: Motion, *, most: int) -> Poses | None:
    """At most so many poses of a clip that differ and do not intersect themselves; None where there are none."""
    poses = different(poses_of_clip(body, motion, most=most))
    clean = np.flatnonzero(~body.intersecting(poses)).tolist()
    return poses[clean] if clean else None


def recorded_files(shared: Path) -> dict[Path, list[Take]]:
    """Files with clips that may be trained on, and their clips."""
    files: dict[Path, list[Take]] = defaultdict(list)
    for take in read_takes(shared):
        if take.clip:
            files[take.file].append(take)
    return dict(sorted(files.items()))


def recorded_poses(file: Path, takes: list[Take]) -> BodyPoses | None:
    """Poses of the clips of one file; None if none of its clips can be used."""
    character = load_character(file)
    body, clips = Skinned.of(character), {clip.name: clip for clip in character.clips}
    parts, most = [], max(4, min(MOST_PER_CLIP, MOST_PER_BODY // len(takes)))
    for take in takes:
        clip = clips.get(take.clip) or (character.clips[0] if take.captured and character.clips else None)
        if clip is None:
            continue
        motion = Motion.from_clip(body.rig, clip)
        poses = keep(body, motion[T_POSE:] if take.captured else motion, most=most)
        parts += [(poses, words_of(take.name, take.wording))] if poses is not None else []
    return BodyPoses.of(file.stem, takes[0].kind, "recorded", Body.of(character), parts) if parts else None


def words_of(motion: str, wording: str = "") -> str:
    """A verb phrase for a motion: its own, or the first of the vocabulary."""
    return wording or (vocabulary()[motion].wordings[0].doing if motion in vocabulary() else motion)


def procedural_poses(rng: np.random.Generator) -> BodyPoses:
    """Poses of one random creature; every kind of body is equally likely."""
    while True:
        kind = str(rng.choice(list(FAMILIES)))
        character = random_creature(rng, family=str(rng.choice(FAMILIES[kind])), detail="low")
        limbs, skinned = find_limbs(character), Skinned.of(character)
        if LIKE.get(limbs.body, limbs.body) not in BODIES:
            continue  # proportions that hide a leg
        body, parts = GaitBody.of(skinned.rig, limbs), []
        for _ in range(MOTIONS):
            row = draw_motion(limbs.body, rng)
            fps = POSES / row.gait.period(limbs.leg_length) if row.gait is not None else ACTION_FPS
            how = {"frames": POSES, "fps": fps, "phase": float(rng.random()), "rng": rng, "body": body}
            with torch.no_grad():
                motion, label = make_motion(skinned.rig, limbs, row, **how)
                poses = keep(skinned, motion, most=POSES)
            parts += [(poses, words_of(label.name))] if poses is not None else []
        if parts:
            return BodyPoses.of(character.name, kind, "procedural", Body.of(character), parts)
