"""An energy that pulls a motion towards the poses of its body: what the pose space would change is what it costs.

Legs are left to the prior and the ground: what the space knows of gaits is less than the video tells. Arms, heads,
tails and the trunk are small in the picture, and there its opinion is worth more.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from kinema.motion.motion import Motion
from kinema.posespace.model import poses_to_values, values_to_poses
from kinema.posespace.pose import Poses
from kinema.posespace.space import PoseSpace
from kinema.rig.kinematics import local_rotations
from kinema.rig.limbs import Limbs

EVERY = 3
"""Steps of the optimisation from one pull to the next; the network is asked at each."""
WEIGHT = 1.0
"""Weight of the squared angle, summed over the joints [1 / rad²], as an average over all steps."""
LEVEL = 0.25
"""Noise level at which the network is asked."""


@dataclass(frozen=True)
class PosePull:
    """The pose space's opinion of some joints."""

    space: PoseSpace
    joints: Int[Tensor, "soft"]

    @staticmethod
    def of(space: PoseSpace, limbs: Limbs) -> "PosePull":
        legs = {joint for leg in limbs.legs for joint in leg.joints}
        soft = [joint for joint in range(1, len(space.rig.parents)) if joint not in legs]
        return PosePull(space, torch.tensor(soft, dtype=torch.long))

    def energy(self, motion: Motion) -> Float[Tensor, ""]:
        """Mean over frames of the squared angles to what the space would rather have, which gets no gradient.

        |R - S|² / 2 = 4 sin²(θ / 2) is θ² for small angles, and smooth up to half a turn.
        """
        rather = self.rather(motion)[:, self.joints]
        own = local_rotations(self.space.rig, motion.angles.to(self.space.rig.heads))[:, self.joints]
        squared = (own - rather).square().sum((-1, -2)) / 2
        return (EVERY * WEIGHT * squared.sum(-1).mean()).to(motion.angles)

    @torch.no_grad()
    def rather(self, motion: Motion) -> Float[Tensor, "frames joints 3 3"]:
        """Rotations of the clean poses that the network sees in noisy ones of the motion."""
        rig, scale = self.space.rig, self.space.body.scale
        values = poses_to_values(Poses.of_motion(rig, motion.detached("cpu")), scale)
        return values_to_poses(self.space.rather(values, LEVEL), scale).rotations.to(motion.angles)
