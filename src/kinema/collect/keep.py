"""What is kept of a clip: frames that differ, on the ground where the clip stands, and without new intersections."""

import numpy as np
import torch

from kinema.motion.motion import Motion
from kinema.posespace.pose import Poses
from kinema.posespace.skinned import Skinned

HANGS, SINKS = 0.25, 0.02
"""Heights over and under the ground, in heights of the body, from which on a whole clip is moved to the ground."""
SAME = 0.02
"""Root mean square of the rotations' change up to which two poses are one."""


def poses_of_clip(body: Skinned, motion: Motion, *, most: int) -> Poses:
    """At most so many poses of a clip, evenly in time, as high over the ground as the clip has them.

    Joints that leave their sockets are put back, and the root takes up the height that this would change.
    """
    count = min(most, len(motion))
    chosen = motion.at(torch.linspace(0, len(motion) - 1, count))
    poses = Poses.of_motion(body.rig, chosen)
    low = body.lowest(chosen.pose(body.rig))
    poses = Poses(poses.rotations, poses.height + low - body.lowest(poses.place(body.rig)))
    height = float(body.vertices[:, 1].amax() - body.vertices[:, 1].amin())
    floor = float(low.quantile(0.1))
    if floor < -SINKS * height or floor > HANGS * height:
        poses = Poses(poses.rotations, poses.height - floor)
    return poses


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
