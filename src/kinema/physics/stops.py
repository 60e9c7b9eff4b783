"""Soft stops of a rig's joints for a simulation."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.motion.motion import Motion
from kinema.rig.hinges import joint_limits
from kinema.rig.limbs import Limbs

MARGIN = 0.05
"""Room beyond what the motion itself does, over which a stop comes on [rad]."""


def rig_stops(character: Character, limbs: Limbs, motion: Motion) -> Float[Tensor, "joints 3 2"]:
    """Least and greatest angle of each joint [rad], for `track(..., limits=...)`.

    Knees, hocks and elbows bend one way, as `rig.hinges` finds from the rest pose. A motion that goes farther is right
    and the guess is wrong: the range is widened to hold it.
    """
    found = joint_limits(character, limbs)
    angles = motion.angles.detach().double().cpu().numpy()
    lower = np.minimum(found.lower, angles.min(0) - MARGIN)
    upper = np.maximum(found.upper, angles.max(0) + MARGIN)
    return torch.from_numpy(np.stack((lower, upper), -1))
