"""Validators: how far a pose is from one that the body can be in, differentiable and in units of the body's own size.

Three questions. Do limbs go through each other (`spheres`)? Is something under the ground? Does a joint bend as it
never does? The last one cannot be seen on the skin, a knee bent forwards strains it as one bent backwards: its range
comes from poses that the body is in. Nothing is set by hand for a character.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.geometry.transforms import apply
from kinema.posespace.model import Values, poses_to_values, values_to_poses
from kinema.posespace.pose import Poses, Turns
from kinema.posespace.spheres import Spheres
from kinema.rig.kinematics import Rig, Transforms
from kinema.rig.limbs import Limbs, find_limbs

MARGIN, SPARE = 0.25, 0.15
"""How far beyond the range of known poses a joint may turn: a share of that range, and at least [rad]."""
TRIM = 0.01
"""Share of the known poses that are beyond a joint's range on each side."""
REPAIR_STEPS, RATE = 12, 0.7
"""Polyak steps, and their length as a share of the one that would bring the energy to zero."""
FAR = 0.5
"""Longest step, in the network's units (root mean square over a pose)."""
PerPose = Float[Tensor, "*b"]


@dataclass(frozen=True)
class JointRange:
    """Range of every joint's rotation vector (twice the vector of its quaternion), from poses that the body is in."""

    lower: Float[Tensor, "joints 3"]
    upper: Float[Tensor, "joints 3"]

    @staticmethod
    def of_poses(rotations: Float[Tensor, "poses joints 3 3"]) -> "JointRange":
        """Quantiles of known poses and rest, with a margin."""
        turns = rotation_vectors(rotations)
        low = turns.quantile(TRIM, dim=0).clamp(max=0)
        high = turns.quantile(1 - TRIM, dim=0).clamp(min=0)
        room = (MARGIN * (high - low)).clamp(min=SPARE)
        return JointRange(low - room, high + room)

    def excess(self, rotations: Turns) -> PerPose:
        """Squared angle beyond the range, summed over the joints below the root [rad²]."""
        turns = rotation_vectors(rotations)
        lower, upper = self.lower.to(turns), self.upper.to(turns)
        beyond = (turns - upper).clamp(min=0) + (lower - turns).clamp(min=0)
        return beyond[..., 1:, :].square().sum((-1, -2))


def rotation_vectors(rotations: Turns) -> Float[Tensor, "*b joints 3"]:
    """Axis times 2 sin(θ / 2): about the angle, one number per direction, and smooth up to a half turn."""
    m = rotations
    twice_w = (1 + m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]).clamp(min=1e-3).sqrt()
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    return torch.stack((a, b, c), -1) / twice_w[..., None]


@dataclass(frozen=True)
class Validator:
    """What one body's poses are measured by."""

    rig: Rig
    limbs: Limbs
    spheres: Spheres | None
    range: JointRange | None = None
    """None before there are poses to learn it from."""

    @staticmethod
    def of(character: Character, *, known: Poses | None = None) -> "Validator":
        """Of a rigged character; `known` are poses that it is in (`PoseSpace.sample`)."""
        assert character.skeleton is not None
        rig = Rig.from_skeleton(character.skeleton)
        spheres = Spheres.of(character) if character.weights is not None and len(character.mesh.faces) else None
        joint_range = None if known is None else JointRange.of_poses(known.rotations)
        return Validator(rig, find_limbs(character), spheres, joint_range)

    def intersection(self, T_world_joint: Transforms) -> PerPose:
        """Sum of the squared depths of spheres in each other, in sizes of the body, as a share of a hundredth."""
        if self.spheres is None:
            return T_world_joint.new_zeros(T_world_joint.shape[:-3])
        return 1e4 * self.spheres.overlaps(self.rig, T_world_joint).square().sum(-1)

    def ground(self, T_world_joint: Transforms) -> PerPose:
        """Sum of the squared depths under the ground, beyond those at rest, in hundredths of the leg length."""
        if not self.limbs.ground:
            return T_world_joint.new_zeros(T_world_joint.shape[:-3])
        probes = torch.from_numpy(self.limbs.probes).to(T_world_joint)
        rest = probes[..., 1] + self.rig.heads[:, None, 1].to(probes)
        height = apply(T_world_joint, probes.expand(*T_world_joint.shape[:-2], 3, 3))[..., 1]
        depth = (rest.clamp(max=0) - height).clamp(min=0) / self.limbs.leg_length
        return 1e4 * depth.square().sum((-1, -2)) / depth.shape[-2]

    def hyperextension(self, rotations: Turns) -> PerPose:
        """Squared angle beyond the known range [rad²]; 0 where none is known."""
        return rotations.new_zeros(rotations.shape[:-3]) if self.range is None else self.range.excess(rotations)

    def energy(self, poses: Poses) -> Float[Tensor, "poses"]:
        """All three of each pose; zero for a pose that nothing is wrong with."""
        placed = poses.place(self.rig)
        return self.intersection(placed) + self.ground(placed) + self.hyperextension(poses.rotations)


def polyak(values: Values, energy_of: Callable[[Values], Float[Tensor, "n"]]) -> tuple[Values, Float[Tensor, "n"]]:
    """The step E ∇E / |∇E|² down an energy, each pose with its own length, and the energy."""
    values = values.detach().requires_grad_(True)
    energy = energy_of(values)
    (slope,) = torch.autograd.grad(energy.sum(), values)
    energy, squared = energy.detach(), slope.square().sum((1, 2), keepdim=True).clamp(min=1e-12)
    return RATE * energy[:, None, None] * slope / squared, energy


def repair(validator: Validator, poses: Poses, *, scale: float) -> Poses:
    """Small changes that take limbs out of each other and out of the ground; poses that nothing is wrong with stay."""
    values = poses_to_values(poses, scale)
    wrong = torch.arange(len(values))
    for _ in range(REPAIR_STEPS):
        step, energy = polyak(values[wrong], lambda found: validator.energy(values_to_poses(found, scale)))
        wrong, step = wrong[energy > 1e-3], step[energy > 1e-3]
        if not len(wrong):
            break
        length = step.square().mean((1, 2), keepdim=True).sqrt()
        values[wrong] = values[wrong] - step * (FAR / length.clamp(min=FAR))
    return values_to_poses(values, scale)
