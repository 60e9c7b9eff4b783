"""Small changes that take limbs out of each other and out of the ground."""

import torch

from kinema.posespace.model import poses_to_values, values_to_poses
from kinema.posespace.pose import Poses
from kinema.posespace.validate import Validator

STEPS, RATE = 12, 0.7
"""Polyak steps, and their length as a share of the one that would bring the energy to zero."""
FAR = 0.5
"""Longest step, in the network's units (root mean square over a pose)."""


def repair(validator: Validator, poses: Poses, *, scale: float, steps: int = STEPS) -> Poses:
    """Steps E ∇E / |∇E|² down the validators' energy; poses that nothing is wrong with stay as they are."""
    values = poses_to_values(poses, scale)
    for _ in range(steps):
        values = values.detach().requires_grad_(True)
        energy = validator.energy(values_to_poses(values, scale))
        wrong = energy.detach() > 1e-3
        if not bool(wrong.any()):
            break
        (slope,) = torch.autograd.grad(energy.sum(), values)
        squared = slope.square().sum((1, 2), keepdim=True).clamp(min=1e-12)
        step = RATE * energy.detach()[:, None, None] * slope / squared
        length = step.square().mean((1, 2), keepdim=True).sqrt()
        values = values - step * (FAR / length.clamp(min=FAR)) * wrong[:, None, None]
    return values_to_poses(values.detach(), scale)
