"""Everything that motion, physics and metrics read of a rigged body, measured once."""

from dataclasses import dataclass

import torch

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.rig.cuboids import Cuboids, bone_cuboids
from kinema.rig.hinges import JointLimits, joint_limits
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs


@dataclass(frozen=True)
class Anatomy:
    """A character's rig, limbs, cuboids and joint limits."""

    rig: Rig
    limbs: Limbs
    cuboids: Cuboids
    limits: JointLimits

    @staticmethod
    def of(character: Character, *, dtype: torch.dtype = torch.float32) -> "Anatomy":
        """Measure a rigged character; `dtype` is that of the rig's tensors (the rest are numpy arrays)."""
        if character.skeleton is None or character.weights is None:
            raise KinemaError(f"{character.name}: has no skeleton with skin weights; rig it first")
        limbs = find_limbs(character)
        rig = Rig.from_skeleton(character.skeleton, dtype=dtype)
        return Anatomy(rig, limbs, bone_cuboids(character), joint_limits(character, limbs))
