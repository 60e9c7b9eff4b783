"""Wishes for a pose and the damped least squares that meets them: positions, orientations, directions of gaze."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.geometry.rotations import ancestors
from kinema.geometry.transforms import cross_matrix, rotation_matrix, rotation_vector
from kinema.posespace.pose import Poses, Turns, from_six, to_six, without_heading
from kinema.rig.kinematics import Rig, Transforms

DAMPING = 1e-4
"""Added to J Jᵀ [scales²], so that a target out of reach stops at the nearest point instead of shaking."""
LARGEST = 0.4
"""Largest turn of a joint in one step [rad]."""
FAR, RISE, EASED = 0.5, 1.0, 4.0
"""Longest way that a step tries to go [scales], how far the root rises or sinks at most [scales], and the factor by
which damping falls after a step that helped."""
ALONE, UNSEEN = 0.1, 0.01
"""Shares of a metric for turns of each joint by itself, and for turns that no known pose has."""
Point = tuple[float, float, float]
Metric = Float[Tensor, "dofs dofs"]
"""Covariance of all joints' turns in their parents and of the root's height in scales."""


@dataclass(frozen=True)
class Target:
    """What a joint shall do; lengths in metres in the world, with the root over its place at rest."""

    joint: int
    position: Point | None = None
    """Where the joint's head, or `point`, shall be."""
    point: Point = (0.0, 0.0, 0.0)
    """A point that moves with the joint, relative to its head at rest."""
    look_at: Point | None = None
    """What the joint's `forward` shall point at."""
    forward: Point = (0.0, 0.0, 1.0)
    """A direction that moves with the joint, as it is at rest."""
    rotation: Float[Tensor, "3 3"] | None = None
    """How the joint shall be turned in the world, from rest."""
    weight: float = 1.0


def check_targets(rig: Rig, targets: Sequence[Target], frozen: Sequence[int] = ()) -> None:
    """Refuse joints that the rig does not have and values that are no numbers."""
    count = len(rig.parents)
    for joint in (*(t.joint for t in targets), *frozen):
        if not 0 <= joint < count:
            raise KinemaError(f"joint {joint}: the rig has joints 0 to {count - 1}")
    for target in targets:
        for value in (target.position, target.point, target.look_at, target.forward):
            if value is not None and not all(abs(x) < 1e6 for x in value):
                raise KinemaError(f"target of joint {rig.names[target.joint]}: {value} is not finite")


def residuals(rig: Rig, T_world_joint: Transforms, targets: Sequence[Target], scale: float) -> Float[Tensor, "*b rows"]:
    """What is missing, three rows per wish, in scales (an orientation of one radian counts as a scale)."""
    rows = []
    for target in targets:
        rotation, head = T_world_joint[..., target.joint, :, :3], T_world_joint[..., target.joint, :, 3]
        place = head + rotation @ rotation.new_tensor(target.point)
        if target.position is not None:
            rows.append(target.weight * (rotation.new_tensor(target.position) - place) / scale)
        if target.look_at is not None:
            wanted = torch.nn.functional.normalize(rotation.new_tensor(target.look_at) - place, dim=-1)
            now = rotation @ torch.nn.functional.normalize(rotation.new_tensor(target.forward), dim=0)
            rows.append(target.weight * torch.linalg.cross(now, wanted, dim=-1))
        if target.rotation is not None:
            rows.append(target.weight * _turn_between(rotation, target.rotation.to(rotation)))
    return torch.cat(rows, -1)


def _turn_between(a: Tensor, b: Tensor) -> Tensor:
    """Rotation vector (sine only) in the world that turns a to b."""
    m = b @ a.mT
    vector = (m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1])
    return 0.5 * torch.stack(vector, -1)


def jacobian(
    rig: Rig, T_world_joint: Transforms, targets: Sequence[Target], scale: float, free: Bool[Tensor, "joints"]
) -> Float[Tensor, "*b rows columns"]:
    """How places and directions follow turns of every joint in its parent, and the root's height [scales].

    A joint above the target that turns by ω in the world moves a point p by ω × (p - head), and turns what it carries
    by ω.
    """
    batch, count = T_world_joint.shape[:-3], len(rig.parents)
    heads, blocks = T_world_joint[..., 3], []
    parents = T_world_joint[..., [max(p, 0) for p in rig.parents], :, :3].clone()
    parents[..., 0, :, :] = torch.eye(3).to(heads)
    eye = torch.eye(3).to(heads)
    for target in targets:
        chain = torch.zeros(count, dtype=torch.bool)
        chain[[target.joint, *ancestors(rig.parents, target.joint)]] = True
        above = (chain & free).to(heads)
        rotation = T_world_joint[..., target.joint, :, :3]
        place = heads[..., target.joint, :] + rotation @ rotation.new_tensor(target.point)
        if target.position is not None:
            arm = (place[..., None, :] - heads) / scale
            moves = -cross_matrix(arm) @ parents * above[:, None, None]
            up = eye[:, 1:2].expand(*batch, 3, 1)
            blocks.append(target.weight * torch.cat((moves.transpose(-3, -2).flatten(-2), up), -1))
        if target.look_at is not None or target.rotation is not None:
            turns = (parents * above[:, None, None]).transpose(-3, -2).flatten(-2)
            turns = target.weight * torch.cat((turns, turns.new_zeros(*batch, 3, 1)), -1)
            blocks += [turns] * ((target.look_at is not None) + (target.rotation is not None))
    return torch.cat(blocks, -2)


def reach(
    rig: Rig,
    poses: Poses,
    targets: Sequence[Target],
    *,
    scale: float,
    frozen: Sequence[int] = (),
    rounds: int = 8,
    metric: Metric | None = None,
) -> Poses:
    """Poses that meet the targets with the least turning; frozen joints keep their rotation.

    Args:
        metric: how readily joints turn, and which turn together; by default all alike, each by itself.
    """
    free = torch.ones(len(rig.parents), dtype=torch.bool)
    free[list(frozen)] = False
    placed = poses.place(rig)
    missing = residuals(rig, placed, targets, scale)
    damping = torch.full((*missing.shape[:-1], 1, 1), DAMPING).to(missing)
    low, high = poses.height - RISE * scale, poses.height + RISE * scale
    for _ in range(rounds):
        J = jacobian(rig, placed, targets, scale, free)
        easy = J if metric is None else J @ metric
        gram = easy @ J.mT + damping * torch.eye(J.shape[-2]).to(J)
        step = (easy.mT @ torch.linalg.solve(gram, _nearer(missing)[..., None])).squeeze(-1)
        turn = step[..., :-1].unflatten(-1, (-1, 3)) * free[:, None]
        turn = turn * (LARGEST / turn.norm(dim=-1, keepdim=True).clamp(min=LARGEST))
        tried = Poses(turned(poses.rotations, turn), (poses.height + scale * step[..., -1]).clamp(low, high))
        now = tried.place(rig)
        left = residuals(rig, now, targets, scale)
        # A step that led away is taken back and tried again, shorter.
        better = left.square().sum(-1) <= missing.square().sum(-1)
        damping = torch.where(better[..., None, None], (damping / EASED).clamp(min=DAMPING), damping * EASED**2)
        placed, missing = (
            torch.where(better[..., None, None, None], now, placed),
            torch.where(better[..., None], left, missing),
        )
        rotations = torch.where(better[..., None, None, None], tried.rotations, poses.rotations)
        poses = Poses(rotations, torch.where(better, tried.height, poses.height))
    return poses


def _nearer(missing: Float[Tensor, "*b rows"]) -> Float[Tensor, "*b rows"]:
    """What is missing, of far targets a part of it: a step goes only so far."""
    each = missing.unflatten(-1, (-1, 3))
    return (each * (FAR / each.norm(dim=-1, keepdim=True).clamp(min=FAR))).flatten(-2)


def turned(rotations: Turns, turn: Float[Tensor, "*b joints 3"]) -> Turns:
    """Local rotations after every joint has turned in its parent; the root keeps no heading."""
    local = rotation_matrix(turn) @ rotations
    lean, _ = without_heading(local[..., 0, :, :])
    return torch.cat((lean[..., None, :, :], local[..., 1:, :, :]), -3)


def metric_of(poses: Poses, scale: float) -> Metric:
    """How the joints of known poses turn together: the covariance of their turns from the mean pose, about one in the
    mean, with some freedom for what they never do."""
    mean = from_six(to_six(poses.rotations).mean(0))
    turns = rotation_vector(poses.rotations @ mean.mT)
    x = torch.cat((turns.flatten(1), (poses.height - poses.height.mean())[:, None] / scale), 1)
    covariance = x.mT @ x / max(float(x.square().sum() / x.shape[1]), 1e-9)
    alone = torch.diag(covariance.diagonal() + UNSEEN)
    return (1 - ALONE) * covariance + ALONE * alone + UNSEEN * torch.eye(len(alone))
