"""Inverse kinematics through the pose space: poses that meet targets and look like poses of the body."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float

from kinema.posespace.flow import END, Denoiser, levels
from kinema.posespace.model import Values, poses_to_values, values_to_poses
from kinema.posespace.pose import Poses
from kinema.posespace.reach import Target, reach, residuals
from kinema.rig.kinematics import Rig

Start = Float[torch.Tensor, "1 tokens 6"]
CANDIDATES = 4
"""Poses that are tried; the best is kept."""
STEPS = 4
"""Noise levels between `plausible` and clean."""
POLYAK_STEPS, POLYAK_RATE = 3, 0.7
"""Steps of guidance at each level, and their length as a share of the one that would bring the energy to zero."""
JUDGED_AT = 0.3
"""Level at which candidates are compared by how much the network would change them."""
MET = 0.004
"""Distance below which a target counts as met [scales]."""


@dataclass(frozen=True)
class Solution:
    """A pose that meets targets as well as it can."""

    poses: Poses
    """One pose."""
    misses: tuple[float, ...]
    """How far each target is missed [m; rad for directions]."""


def guided(
    rig: Rig, clean: Denoiser, start: Start, targets: Sequence[Target], *, scale: float, level: float,
    frozen: Sequence[int], generator: torch.Generator, count: int = CANDIDATES, steps: int = STEPS,
) -> Values:  # fmt: skip
    """Noise a pose to a level and denoise it, pulling each clean estimate towards the targets on the way."""
    noise = torch.randn(count, *start.shape[1:], generator=generator)
    held = list(frozen)
    path = levels(steps, level)
    state = (1 - level) * start + level * noise
    estimate = start
    for t, t_next in zip(path, [*path[1:], 0.0]):
        with torch.no_grad():
            estimate = clean(state, t)
        implied = (state - (1 - t) * estimate) / t
        rounds = POLYAK_STEPS if steps > 1 else 1
        estimate = polyak(rig, estimate, targets, scale=scale, frozen=held, start=start, rounds=rounds)
        # A single step is for dragging: its first estimate is what there is time for.
        if t <= END or steps == 1:
            break
        state = (1 - t_next) * estimate + t_next * implied
    return estimate


def polyak(
    rig: Rig, values: Values, targets: Sequence[Target], *, scale: float, frozen: list[int],
    start: Start, rounds: int = POLYAK_STEPS,
) -> Values:  # fmt: skip
    """Steps E ∇E / |∇E|² down the squared distance to the targets, each pose with its own length."""
    for _ in range(rounds):
        values = values.detach().clone()
        values[:, frozen] = start[:, frozen]
        values.requires_grad_(True)
        placed = values_to_poses(values, scale).place(rig)
        energy = residuals(rig, placed, targets, scale).square().sum(-1)
        (slope,) = torch.autograd.grad(energy.sum(), values)
        slope[:, frozen] = 0.0
        length = slope.square().sum((1, 2), keepdim=True).clamp(min=1e-12)
        values = values - POLYAK_RATE * energy[:, None, None] * slope / length
    return values.detach()


def solve(
    rig: Rig, clean: Denoiser, start: Poses, targets: Sequence[Target], *, scale: float, plausible: float = 0.5,
    frozen: Sequence[int] = (), generator: torch.Generator, count: int = CANDIDATES, steps: int = STEPS,
) -> Solution:  # fmt: skip
    """The best of several guided poses, brought to the targets exactly.

    Args:
        start: the pose to begin with; one.
        plausible: noise level to begin at: 0 changes the start as little as possible, 0.5 rather follows the space.
        frozen: joints that keep their rotation.
    """
    values = poses_to_values(start, scale)
    if plausible > 2 * END:
        wished = {"scale": scale, "level": plausible, "frozen": frozen, "generator": generator}
        values = guided(rig, clean, values, targets, **wished, count=count, steps=steps)
    found = _held(values_to_poses(values, scale), start, frozen)
    # Rounding of a hundred products is put back too: frozen is frozen.
    found = _held(reach(rig, found, targets, scale=scale, frozen=frozen), start, frozen)
    missing = residuals(rig, found.place(rig), targets, scale).unflatten(-1, (-1, 3)).norm(dim=-1)
    if len(found) > 1:
        best = int(_cost(clean, found, missing, scale, generator).argmin())
        found, missing = found[best : best + 1], missing[best : best + 1]
    kinds = [k for t in targets for k in (t.position, t.look_at, t.rotation) if k is not None]
    metres = [k is t.position for t in targets for k in (t.position, t.look_at, t.rotation) if k is not None]
    assert len(kinds) == missing.shape[1]
    return Solution(found, tuple(float(m) * (scale if metric else 1.0) for m, metric in zip(missing[0], metres)))


def _held(poses: Poses, start: Poses, frozen: Sequence[int]) -> Poses:
    """The poses with the rotations that frozen joints have in `start`."""
    rotations = poses.rotations.clone()
    rotations[:, list(frozen)] = start.rotations[:, list(frozen)]
    return Poses(rotations, poses.height)


def _cost(
    clean: Denoiser, found: Poses, missing: Float[torch.Tensor, "n wishes"], scale: float, generator: torch.Generator
) -> Float[torch.Tensor, "n"]:
    """Missed targets first, then how far the network would change the pose."""
    values = poses_to_values(found, scale)
    noise = torch.randn(1, *values.shape[1:], generator=generator)
    with torch.no_grad():
        changed = clean((1 - JUDGED_AT) * values + JUDGED_AT * noise, JUDGED_AT) - values
    return 1e3 * (missing.amax(1) - MET).clamp(min=0) + changed.square().mean((1, 2))
