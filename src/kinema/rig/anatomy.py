"""Everything that motion, physics and metrics read of a rigged body, measured once."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from kinema.asset.character import Character, Mesh
from kinema.errors import KinemaError
from kinema.geometry.decimate import decimate
from kinema.geometry.surface import sum_by_group
from kinema.rig.cuboids import Cuboids, bone_cuboids
from kinema.rig.held import without_held
from kinema.rig.hinges import JointLimits, joint_limits
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs
from kinema.rig.weights.bone_heat import LARGE


@dataclass(frozen=True)
class Anatomy:
    """A character's rig, limbs, cuboids and joint limits; what hands hold has no cuboid."""

    rig: Rig
    limbs: Limbs
    cuboids: Cuboids
    limits: JointLimits

    @staticmethod
    def of(character: Character, *, dtype: torch.dtype = torch.float32) -> "Anatomy":
        """Measure a rigged character; `dtype` is that of the rig's tensors (the rest are numpy arrays)."""
        if character.skeleton is None or character.weights is None:
            raise KinemaError(f"{character.name}: has no skeleton with skin weights; rig it first")
        rig, character = Rig.from_skeleton(character.skeleton, dtype=dtype), coarse(character)
        limbs = find_limbs(character)
        # A sword of two metres that hangs from a hand would stop whoever runs with it.
        return Anatomy(rig, limbs, bone_cuboids(without_held(character, limbs)), joint_limits(character, limbs))


def coarse(character: Character) -> Character:
    """The character with a mesh of at most about LARGE vertices: measures of the body need no more."""
    mesh, weights = character.mesh, character.weights
    if len(mesh.vertices) <= LARGE or weights is None:
        return character
    vertices, faces, cell = decimate(mesh.vertices, mesh.faces, LARGE)
    total = sum_by_group(cell, weights, len(vertices)) / np.bincount(cell)[:, None]
    return replace(character, mesh=Mesh(vertices, faces, np.ones((len(vertices), 3))), weights=total)
