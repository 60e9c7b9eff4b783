"""How a body stands before it moves: rigs come with arms stretched out, and nobody stands like that."""

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.gait.make import make_motion
from kinema.geometry.transforms import apply
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs


def hanging_arms(rig: Rig, limbs: Limbs) -> Float[Tensor, "joints 3"]:
    """Angles with the arms as they hang and wings folded, zero elsewhere.

    The arms come down only part of the way where a hand or what it holds would reach the ground. What has no legs
    keeps its fins and wings spread.
    """
    angles = torch.zeros(len(rig.parents), 3)
    joints = [joint for arm in limbs.arms for joint in arm.joints]
    if not joints or not limbs.legs:
        return angles
    stand, _ = make_motion(rig, limbs, "stand", frames=2, fps=1.0)
    probes = torch.from_numpy(limbs.probes[joints]).to(rig.heads)
    for share in (1.0, 0.75, 0.5, 0.25):
        angles[joints] = share * stand.angles.mean(0)[joints].to(angles)
        pose = Motion(rig.heads[:1], angles[None].to(rig.heads), 1.0).pose(rig)[0, joints]
        if apply(pose, probes)[..., 1].min() > 0.15 * limbs.leg_length:
            return angles
    return torch.zeros_like(angles)
