"""Skeletons with a box per bone, for tests that need no mesh."""

from dataclasses import replace

import numpy as np
import torch

from kinema.asset.character import Skeleton
from kinema.physics.model import Model, make_model
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig


def skeleton(bones: dict[str, tuple[str | None, tuple[float, float, float], tuple[float, float, float]]]) -> Skeleton:
    names = tuple(bones)
    parents = tuple(-1 if parent is None else names.index(parent) for parent, _, _ in bones.values())
    heads, tails = (np.array([bone[k] for bone in bones.values()], dtype=np.float64) for k in (1, 2))
    return Skeleton(names, parents, heads, tails)


def boxes(body: Skeleton, *, thickness: float = 0.2) -> Cuboids:
    """A box around each bone, `thickness` of its length wide."""
    bone = body.tails - body.heads
    length = np.linalg.norm(bone, axis=-1)
    along = np.where(length[:, None] > 0, bone / np.maximum(length, 1e-12)[:, None], [0.0, 0.0, 1.0])
    side = np.where(np.abs(along[:, :1]) < 0.8, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    side = side - (side * along).sum(-1, keepdims=True) * along
    side /= np.linalg.norm(side, axis=-1, keepdims=True)
    axes = np.stack((side, np.cross(along, side), along), -1)
    half = np.stack((0.5 * thickness * length, 0.5 * thickness * length, 0.5 * length), -1)
    half = np.maximum(half, 1e-3 * max(length.max(), 1e-3))
    return Cuboids(bone / 2, axes, half, 8 * half.prod(-1))


def quadruped() -> Skeleton:
    """17 bones: pelvis, spine, neck, head, tail and four legs of three."""
    bones: dict = {
        "pelvis": (None, (0, 0.6, -0.35), (0, 0.6, 0.0)),
        "spine": ("pelvis", (0, 0.6, 0.0), (0, 0.62, 0.35)),
        "neck": ("spine", (0, 0.62, 0.35), (0, 0.8, 0.55)),
        "head": ("neck", (0, 0.8, 0.55), (0, 0.78, 0.75)),
        "tail": ("pelvis", (0, 0.6, -0.35), (0, 0.45, -0.7)),
    }
    for end, parent, z in (("fore", "spine", 0.3), ("hind", "pelvis", -0.3)):
        for side, x in (("left", 0.12), ("right", -0.12)):
            name = f"{end}_{side}"
            bones[f"{name}_upper"] = (parent, (x, 0.58, z), (x, 0.32, z + 0.02))
            bones[f"{name}_lower"] = (f"{name}_upper", (x, 0.32, z + 0.02), (x, 0.06, z))
            bones[f"{name}_foot"] = (f"{name}_lower", (x, 0.06, z), (x, 0.02, z + 0.08))
    return skeleton(bones)


def humanoid() -> Skeleton:
    """20 bones."""
    bones: dict = {
        "pelvis": (None, (0, 0.95, 0), (0, 1.05, 0)),
        "spine": ("pelvis", (0, 1.05, 0), (0, 1.25, 0)),
        "chest": ("spine", (0, 1.25, 0), (0, 1.45, 0)),
        "neck": ("chest", (0, 1.45, 0), (0, 1.55, 0)),
        "head": ("neck", (0, 1.55, 0), (0, 1.75, 0)),
        "jaw": ("head", (0, 1.6, 0.05), (0, 1.58, 0.12)),
    }
    for side, s in (("left", 1.0), ("right", -1.0)):
        bones[f"{side}_clavicle"] = ("chest", (0.03 * s, 1.42, 0), (0.18 * s, 1.42, 0))
        bones[f"{side}_upper_arm"] = (f"{side}_clavicle", (0.18 * s, 1.42, 0), (0.46 * s, 1.42, 0))
        bones[f"{side}_forearm"] = (f"{side}_upper_arm", (0.46 * s, 1.42, 0), (0.7 * s, 1.42, 0))
        bones[f"{side}_hand"] = (f"{side}_forearm", (0.7 * s, 1.42, 0), (0.85 * s, 1.42, 0))
        bones[f"{side}_thigh"] = ("pelvis", (0.09 * s, 0.93, 0), (0.1 * s, 0.5, 0.01))
        bones[f"{side}_shin"] = (f"{side}_thigh", (0.1 * s, 0.5, 0.01), (0.1 * s, 0.08, -0.02))
        bones[f"{side}_foot"] = (f"{side}_shin", (0.1 * s, 0.08, -0.02), (0.1 * s, 0.03, 0.15))
    return skeleton(bones)


def chain(count: int, *, length: float = 0.2, height: float = 1.0) -> Skeleton:
    """`count` bones in a row along +Z."""
    bones: dict = {}
    for k in range(count):
        parent = f"b{k - 1}" if k else None
        bones[f"b{k}"] = (parent, (0, height, k * length), (0, height, (k + 1) * length))
    return skeleton(bones)


def model_of(body: Skeleton, **options) -> tuple[Rig, Model]:
    rig = Rig.from_skeleton(body, dtype=torch.float64)
    return rig, make_model(rig, boxes(body), **options)


def passive(model: Model) -> Model:
    """The same bodies without control, stops, armature and ground: rigid bodies under gravity alone."""
    zero = torch.zeros_like(model.stiffness)
    inf = torch.full_like(zero, float("inf"))
    free = replace(model, stiffness=zero, damping=zero, armature=zero, lower=-inf, upper=inf)
    return replace(free, contact=replace(model.contact, stiffness=0.0))


def rest(rig: Rig) -> torch.Tensor:
    """q of the rest pose, [1, dofs]."""
    return torch.cat((rig.heads[0], torch.zeros(3 * len(rig.parents), dtype=torch.float64)))[None]
