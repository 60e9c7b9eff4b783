"""Small joints that a simulation holds still.

Its cost grows with the square of the joints, and fingers, ears and the parts of a face weigh next to nothing.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from kinema.geometry.rotations import ancestors, subtree_sums
from kinema.physics.model import Model

LIGHT = 0.002
"""A joint is held still if it and all below it have less than this share of the mass."""


def moving_joints(model: Model, needed: Iterable[int]) -> list[int]:
    """Joints that a simulation has to move: the heavy ones, and those that are `needed` with all above them."""
    heavy = subtree_sums(model.parents, model.mass.numpy().astype(np.float64)) >= LIGHT * float(model.mass.sum())
    above = {k for j in needed for k in (j, *ancestors(model.parents, j))}
    return [j for j in range(len(model.parents)) if heavy[j] or j in above]


def dofs_of(joints: list[int]) -> Tensor:
    """Coordinates of the root's position and of the joints' angles."""
    return torch.cat((torch.arange(3), (3 + 3 * torch.tensor(joints)[:, None] + torch.arange(3)).flatten()))


def freeze(model: Model, kept: list[int]) -> Model:
    """The model with all joints but `kept` as one rigid body with the joint above them, as they are at rest."""
    if len(kept) == len(model.parents):
        return model
    place, dofs = {j: i for i, j in enumerate(kept)}, dofs_of(kept)
    heads = model.offsets.clone()
    for j, p in enumerate(model.parents):
        if p >= 0:
            heads[j] += heads[p]
    carrier = [next(place[k] for k in (j, *ancestors(model.parents, j)) if k in place) for j in range(len(heads))]
    onto = torch.tensor(carrier)
    mass = torch.zeros(len(kept), dtype=heads.dtype).index_add(0, onto, model.mass)
    # At rest all joint frames have the world's axes: centres of mass and inertias add up (Huygens and Steiner).
    center = model.com + heads - heads[kept][onto]
    com = torch.zeros(len(kept), 3, dtype=heads.dtype).index_add(0, onto, model.mass[:, None] * center) / mass[:, None]
    away = center - com[onto]
    square = (away * away).sum(-1)[:, None, None] * torch.eye(3, dtype=heads.dtype)
    moved = model.inertia + model.mass[:, None, None] * (square - away[:, :, None] * away[:, None])
    inertia = torch.zeros(len(kept), 3, 3, dtype=heads.dtype).index_add(0, onto, moved)
    parents = tuple(carrier[model.parents[j]] if model.parents[j] >= 0 else -1 for j in kept)
    above = torch.tensor([max(p, 0) for p in parents])
    offsets = torch.where(torch.tensor(parents)[:, None] < 0, heads[kept], heads[kept] - heads[kept][above])
    per_dof = ("stiffness", "damping", "armature", "lower", "upper", "stop_stiffness", "stop_damping")
    return replace(
        model, parents=parents, offsets=offsets, axes=model.axes[kept], mass=mass, com=com, inertia=inertia,
        corners=model.corners[kept], **{name: getattr(model, name)[dofs] for name in per_dof},
    )  # fmt: skip
