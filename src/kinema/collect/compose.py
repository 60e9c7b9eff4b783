"""New poses out of known ones of the same body: limbs of one, trunk and legs of another."""

import numpy as np
import torch

from kinema.posespace.pose import Poses
from kinema.rig.anatomy import Anatomy
from kinema.rig.limbs import Limbs


def free_parts(limbs: Limbs) -> list[list[int]]:
    """Parts that may do something else than the rest of the body: arms by pairs, the neck with the head, tails.

    Legs stay with the trunk: they carry it.
    """
    pairs: dict[float, list[int]] = {}
    for arm in limbs.arms:
        pairs.setdefault(len(arm.joints), []).extend(arm.joints)
    neck = [*limbs.neck, *(head for head in limbs.heads if head not in limbs.neck)]
    parts = [*pairs.values(), neck, *(list(tail) for tail in limbs.tails)]
    return [[j for j in part if j != 0] for part in parts if any(j != 0 for j in part)]


def composed(anatomy: Anatomy, poses: Poses, count: int, rng: np.random.Generator) -> Poses:
    """`count` poses, each with one or more free parts of another pose."""
    parts = free_parts(anatomy.limbs)
    if not parts or len(poses) < 2:
        return poses[:0]
    own = rng.integers(len(poses), size=count)
    rotations = poses.rotations[own].clone()
    for row in range(count):
        for part in (parts[k] for k in range(len(parts)) if rng.random() < 0.6):
            rotations[row, part] = poses.rotations[int(rng.integers(len(poses))), part]
    changed = (rotations != poses.rotations[own]).flatten(1).any(1)
    index = torch.from_numpy(own)
    return Poses(rotations[changed], poses.height[index][changed])
