"""Steps down an energy of poses, and the small changes by them that take limbs out of each other and the ground."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.posespace.model import Values, poses_to_values, values_to_poses
from kinema.posespace.pose import Poses
from kinema.posespace.validate import Validator

STEPS, RATE = 12, 0.7
"""Polyak steps, and their length as a share of the one that would bring the energy to zero."""
FAR = 0.5
"""Longest step, in the network's units (root mean square over a pose)."""


def polyak(values: Values, energy_of: Callable[[Values], Float[Tensor, "n"]]) -> tuple[Values, Float[Tensor, "n"]]:
    """The step E ∇E / |∇E|² down an energy, each pose with its own length, and the energy."""
    values = values.detach().requires_grad_(True)
    energy = energy_of(values)
    (slope,) = torch.autograd.grad(energy.sum(), values)
    energy, squared = energy.detach(), slope.square().sum((1, 2), keepdim=True).clamp(min=1e-12)
    return RATE * energy[:, None, None] * slope / squared, energy


def repair(validator: Validator, poses: Poses, *, scale: float) -> Poses:
    """Steps down the validators' energy; poses that nothing is wrong with stay as they are."""
    values = poses_to_values(poses, scale)
    for _ in range(STEPS):
        step, energy = polyak(values, lambda found: validator.energy(values_to_poses(found, scale)))
        wrong = energy > 1e-3
        if not bool(wrong.any()):
            break
        length = step.square().mean((1, 2), keepdim=True).sqrt()
        values = values - step * (FAR / length.clamp(min=FAR)) * wrong[:, None, None]
    return values_to_poses(values.detach(), scale)
