"""Inverse kinematics through the pose space: poses that meet targets and look like poses of the body."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float

from kinema.geometry.rotations import ancestors
from kinema.posespace.flow import END, Denoiser, levels
from kinema.posespace.model import Values, poses_to_values, values_to_poses
from kinema.posespace.pose import Poses
from kinema.posespace.reach import Metric, Target, reach, residuals
from kinema.posespace.validate import polyak
from kinema.rig.kinematics import Rig

Start = Float[torch.Tensor, "1 tokens 6"]
CANDIDATES = 8
"""Guided poses, of which the mean is brought to the targets: it is nearer to what a body would do than any of them."""
STEPS = 4
"""Noise levels between `plausible` and clean."""
GUIDING_STEPS = 3
"""Steps towards the targets at each level."""
ROUNDS, MET = (8, 24), 1e-3
"""Steps of least squares, more of them where targets are still missed by more than so much [scales; rad]."""


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
    path, estimate = levels(steps, level), start
    state = (1 - level) * start + level * noise
    held = torch.zeros(start.shape[1], 1, dtype=torch.bool)
    held[list(frozen)] = True

    def missed(values: Values) -> Float[torch.Tensor, "n"]:
        placed = values_to_poses(torch.where(held, start, values), scale).place(rig)
        return residuals(rig, placed, targets, scale).square().sum(-1)

    for t, t_next in zip(path, [*path[1:], 0.0]):
        with torch.no_grad():
            estimate = clean(state, t)
        implied = (state - (1 - t) * estimate) / t
        for _ in range(GUIDING_STEPS if steps > 1 else 1):
            estimate = estimate - polyak(estimate, missed)[0]
        estimate = torch.where(held, start, estimate)
        # A single step is for dragging: its first estimate is what there is time for.
        if t <= END or steps == 1:
            break
        state = (1 - t_next) * estimate + t_next * implied
    return estimate


def solve(
    rig: Rig, clean: Denoiser, start: Poses, targets: Sequence[Target], *, scale: float, plausible: float = 0.5,
    frozen: Sequence[int] = (), generator: torch.Generator, metric: Metric | None = None, count: int = CANDIDATES,
    steps: int = STEPS,
) -> Solution:  # fmt: skip
    """The mean of several guided poses, brought to the targets exactly.

    Args:
        start: the pose to begin with; one.
        plausible: noise level to begin at: 0 changes the start as little as possible, 0.5 rather follows the space.
        frozen: joints that keep their rotation.
        metric: how readily joints turn in the end.
    """
    values = poses_to_values(start, scale)
    if plausible > 2 * END:
        wished = {"scale": scale, "level": plausible, "frozen": frozen, "generator": generator}
        near = [_within(rig, target) for target in targets]
        values = guided(rig, clean, values, near, **wished, count=count, steps=steps).mean(0, keepdim=True)
    found = _held(values_to_poses(values, scale), start, frozen)

    def brought(pose: Poses, rounds: int, metric: Metric | None) -> tuple[Poses, Float[torch.Tensor, "wishes"]]:
        # Rounding of a hundred products is put back too: frozen is frozen.
        pose = _held(reach(rig, pose, targets, scale=scale, frozen=frozen, metric=metric, rounds=rounds), start, frozen)
        return pose, residuals(rig, pose.place(rig), targets, scale).unflatten(-1, (-1, 3)).norm(dim=-1)[0]

    for rounds in ROUNDS if steps > 1 else ROUNDS[:1]:
        found, missing = brought(found, rounds, metric)
        if float(missing.max()) < MET:
            break
    else:
        if steps > 1 and metric is not None:  # it may have led into a corner: each joint by itself, from the start
            plain = brought(start, ROUNDS[-1], None)
            found, missing = min((found, missing), plain, key=lambda one: float(one[1].square().sum()))
    metres = [k is t.position for t in targets for k in (t.position, t.look_at, t.rotation) if k is not None]
    units = (scale if metric else 1.0 for metric in metres)
    return Solution(found, tuple(float(m) * unit for m, unit in zip(missing, units, strict=True)))


def _within(rig: Rig, target: Target) -> Target:
    """The target, or the nearest point that a chain from the root is long enough for: noise shall not be pulled
    further."""
    if target.position is None:
        return target
    chain = [target.joint, *ancestors(rig.parents, target.joint)]
    length = sum(float((rig.heads[j] - rig.heads[rig.parents[j]]).norm()) for j in chain if rig.parents[j] >= 0)
    away = torch.tensor(target.position) - rig.heads[0]
    length = max(length + math.hypot(*target.point), 1e-6)
    place = rig.heads[0] + away * min(1.0, length / max(float(away.norm()), 1e-9))
    return replace(target, position=tuple(place.tolist()))


def _held(poses: Poses, start: Poses, frozen: Sequence[int]) -> Poses:
    """The poses with the rotations that frozen joints have in `start`."""
    rotations = poses.rotations.clone()
    rotations[:, list(frozen)] = start.rotations[:, list(frozen)]
    return Poses(rotations, poses.height)
