"""Inverse kinematics: joint rotations that put points of a body where they are wanted.

Two solvers, because they know different things.

`solve_legs` builds poses from nothing: a hip that turns freely and hinges below it (knee, hock, wrist ...) reach an end
point, the ankle of a foot or the tip of a peg. All hinges fold together by one number s, as the reciprocal apparatus of
an ungulate does: s = 0 is the rest pose, s = -1 stretches every hinge straight. The distance from hip to end falls with
s, so a table and two Newton steps invert it exactly, and turning the hip does the rest. Procedural gaits use it: it has
one answer, whatever the frame before.

`reach` changes a given motion as little as possible: damped least squares on any chain, any points of it, with the
orientation of the last joint held softly. Planting uses it; a joint that is not in the chain is frozen.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.geometry.rotations import is_below
from kinema.geometry.transforms import euler_to_matrix, matrix_to_euler
from kinema.rig.hinges import chain_points, is_spread, leg_hinges
from kinema.rig.kinematics import Rig, forward_kinematics
from kinema.rig.limbs import Limbs

GRID = 192
STRETCH = 0.9995
"""Share of the full reach that is used: a straight leg has no derivative."""
POSITION_WEIGHT = 1e4
"""Weight of an effector's position [unit of length], against 1 for an angle of its chain [rad]."""
ORIENTATION_WEIGHT = 0.2
"""Weight of the orientation of the chain's last joint in the world."""
LARGEST_STEP = 0.3
"""Largest change of an angle per iteration [rad]."""
Rotation = Float[Tensor, "3 3"]
Levers = Float[Tensor, "frames dofs 3"]
Axes = Float[Tensor, "frames chain 3 3"]
"""Rows: the three rotation axes of each joint of a chain as they stand in the world."""
Poses = Float[Tensor, "frames joints 3 4"]
Angles = Float[Tensor, "frames joints 3"]
Weights = Float[Tensor, "frames points"]
"""Shares of an effector's points in its position; each row sums to one."""


@dataclass(frozen=True)
class Effector:
    """Points of a body and the chain of joints that may turn to move them, such as a foot and its leg."""

    chain: tuple[int, ...]
    """From the top (a hip) to the joint whose orientation is held."""
    joints: tuple[int, ...]
    """The joint that carries each point."""
    points: Float[np.ndarray, "points 3"]
    """In the frames of those joints [m]."""

    def at(self, T_world_joint: Poses) -> Float[Tensor, "frames points 3"]:
        """The points in the world [m], differentiable."""
        carried = T_world_joint[:, list(self.joints)]
        points = torch.from_numpy(self.points).to(T_world_joint)
        return (carried[..., :3] @ points[..., None]).squeeze(-1) + carried[..., 3]

    @property
    def size(self) -> float:
        """Longest edge of the points' box [m]."""
        return float(np.ptp(self.points, axis=0).max())


def reach(
    rig: Rig, root_position: Float[Tensor, "frames 3"], angles: Angles, effectors: tuple[Effector, ...],
    weights: list[Weights], offset: Float[Tensor, "frames effectors 3"], *, unit: float, iterations: int = 6,
) -> Angles:  # fmt: skip
    """Angles that move each effector by `offset`; of all ways to do so, the one that turns the joints least.

    Per frame and chain, Gauss-Newton on P |position - goal|² + O |turn of the last joint|² + |θ - θ₀|², where θ₀ are
    the angles given, so that nothing drifts and a chain that cannot reach stretches towards its goal. Positions are
    counted in lengths of `unit` [m].
    """
    start, given = forward_kinematics(rig, root_position, angles), angles
    goals = [_mean(e, w, start) + offset[:, k] for k, (e, w) in enumerate(zip(effectors, weights))]
    for _ in range(iterations):
        T = forward_kinematics(rig, root_position, angles)
        change = torch.zeros_like(angles)
        for effector, weight, goal in zip(effectors, weights, goals):
            chain = list(effector.chain)
            axes = world_axes(rig, T, angles, chain)
            J = _levers(rig, effector, weight, T, axes, chain) / unit
            error = (goal - _mean(effector, weight, T)) / unit
            # Rotation vector to the orientation at the start, to first order: half the sum of column cross products
            turn = 0.5 * torch.linalg.cross(T[:, chain[-1], :, :3], start[:, chain[-1], :, :3], dim=1).sum(-1)
            A = axes.flatten(1, 2)
            back = (given - angles)[:, chain].flatten(1)
            normal = POSITION_WEIGHT * J @ J.mT + ORIENTATION_WEIGHT * A @ A.mT + torch.eye(J.shape[1], dtype=J.dtype)
            pull = POSITION_WEIGHT * (J @ error[..., None]) + ORIENTATION_WEIGHT * (A @ turn[..., None])
            step = torch.linalg.solve(normal, pull + back[..., None]).squeeze(-1)
            change[:, chain] += step.clamp(-LARGEST_STEP, LARGEST_STEP).unflatten(-1, (len(chain), 3))
        angles = angles + change
    return angles


def effector_jacobian(
    rig: Rig, root_position: Tensor, angles: Angles, effectors: tuple[Effector, ...], weights: list[Weights]
) -> Float[Tensor, "frames effectors 3 dofs"]:
    """Derivative of each effector's weighted position by all coordinates of the body [m/m, m/rad]."""
    T = forward_kinematics(rig, root_position, angles)
    J = T.new_zeros(len(T), len(effectors), 3, 3 + angles[0].numel())
    J[..., :3] = torch.eye(3, dtype=J.dtype)
    for k, (effector, weight) in enumerate(zip(effectors, weights)):
        chain = [j for j in range(len(rig.parents)) if any(is_below(rig.parents, k, j) for k in effector.joints)]
        columns = (3 + 3 * torch.tensor(chain)[:, None] + torch.arange(3)).flatten()
        J[:, k, :, columns] = _levers(rig, effector, weight, T, world_axes(rig, T, angles, chain), chain).mT
    return J


def joint_angles(rig: Rig, joint: int, R_world_parent: Rotation, R_world_joint: Rotation) -> Float[Tensor, "3"]:
    """Angles about the joint's axes that turn it to a world orientation [rad]."""
    axes = rig.axes[joint]
    return matrix_to_euler(axes.mT @ R_world_parent.mT @ R_world_joint @ axes)


def world_axes(rig: Rig, T: Poses, angles: Angles, chain: list[int]) -> Axes:
    """The rotation axes of the chain in a pose."""
    identity = torch.eye(3, dtype=T.dtype).expand(len(T), 1, 3, 3)
    above = [rig.parents[j] for j in chain]
    frame = torch.cat([T[:, p, None, :, :3] if p >= 0 else identity for p in above], 1) @ rig.axes[chain]
    a, b, _ = angles[:, chain].unbind(-1)
    zero = torch.zeros_like(a)
    second = frame @ euler_to_matrix(torch.stack((a, zero, zero), -1))
    third = frame @ euler_to_matrix(torch.stack((a, b, zero), -1))
    return torch.stack((frame[..., 0], second[..., 1], third[..., 2]), -2)


def _mean(effector: Effector, weight: Weights, T: Poses) -> Float[Tensor, "frames 3"]:
    return (weight[..., None] * effector.at(T)).sum(1)


def _levers(rig: Rig, effector: Effector, weight: Weights, T: Poses, axes: Axes, chain: list[int]) -> Levers:
    """Motion of the effector's weighted position per turn about each axis of the chain [m/rad]: axis × lever."""
    moves = torch.tensor([[is_below(rig.parents, k, j) for k in effector.joints] for j in chain], dtype=T.dtype)
    arms = torch.einsum("fpx,cp->fcx", weight[..., None] * effector.at(T), moves)
    arms = arms - (weight @ moves.T)[..., None] * T[:, chain, :, 3]
    return torch.linalg.cross(axes, arms[:, :, None].expand_as(axes), dim=-1).flatten(1, 2)


@dataclass(frozen=True)
class LegChains:
    """All legs of a body, as far as they bend (down to the ankle or the tip); short ones end in bones of length 0."""

    bones: Float[np.ndarray, "legs bones 3"]
    """Vectors from each joint to the next at rest, from the hip on [m]."""
    axes: Float[np.ndarray, "legs hinges 3"]
    """Turning about it by a positive angle folds the leg."""
    bend: Float[np.ndarray, "legs hinges"]
    """Slope of the hinge angles near rest [rad]: their bend at rest."""
    fold: Float[np.ndarray, "legs hinges"]
    """Slope of the hinge angles far from rest [rad]; 0 for padding."""
    spread: Bool[np.ndarray, "legs"]
    """Legs that reach sideways (spiders): they turn about the vertical first."""
    table_s: Float[np.ndarray, "legs grid"]
    table_root: Float[np.ndarray, "legs grid"]
    """sqrt(reach - distance) at table_s, rising: nearly linear in s even where the leg is straight."""
    reach: Float[np.ndarray, "legs"]
    least: Float[np.ndarray, "legs"]


def leg_chains(limbs: Limbs, heads: Float[np.ndarray, "joints 3"]) -> LegChains:
    """Prepare the legs of a body; a millisecond, once per body."""
    count, most = len(limbs.legs), max(min(leg.foot, len(leg.joints)) for leg in limbs.legs)
    bones = np.zeros((count, most, 3))
    axes = np.tile([1.0, 0.0, 0.0], (count, most - 1, 1))
    bend, fold, spread = np.zeros((count, most - 1)), np.zeros((count, most - 1)), np.zeros(count, dtype=bool)
    for i, leg in enumerate(limbs.legs):
        points = chain_points(leg, heads)
        bones[i, : len(points) - 1] = np.diff(points, axis=0)
        spread[i] = is_spread(points[-1] - points[0])
        hinge_axes, angles = leg_hinges(points, front=leg.rank == 0 and limbs.legs[-1].rank > 0)
        for k in range(len(hinge_axes)):
            axes[i, k], bend[i, k], fold[i, k] = hinge_axes[k], max(angles[k], 0.05), 1.0
    table_s, table_root = np.zeros((count, GRID)), np.zeros((count, GRID))
    chains = LegChains(bones, axes, bend, fold, spread, table_s, table_root, np.zeros(count), np.zeros(count))
    grid = np.linspace(-1.0, 3.0, 4 * GRID)
    distance = np.linalg.norm(_end_points(chains, np.broadcast_to(grid, (count, len(grid)))), axis=-1)
    for i in range(count):
        top = int(distance[i].argmax())
        # Down to the first rise: beyond it the leg has folded through itself.
        rises = np.flatnonzero(np.diff(distance[i, top:]) > -1e-12)
        bottom = top + int(rises[0]) if len(rises) and rises[0] > 8 else len(grid) - 1
        chains.reach[i], chains.least[i] = distance[i, top], distance[i, bottom]
        keep = np.linspace(top, bottom, GRID).round().astype(int)
        table_s[i], table_root[i] = grid[keep], np.sqrt(np.maximum(chains.reach[i] - distance[i, keep], 0.0))
    return chains


def solve_legs(
    chains: LegChains, targets: Float[np.ndarray, "legs frames 3"]
) -> tuple[Float[np.ndarray, "legs frames 3 3"], Float[np.ndarray, "legs frames hinges"]]:
    """Hip rotations and hinge angles that put the end points at the targets, given in the hip's rest-aligned frame.

    Targets out of reach are met in direction only.
    """
    least, most = chains.least[:, None] * 1.0005, chains.reach[:, None] * STRETCH
    wanted = np.clip(np.linalg.norm(targets, axis=-1), least, most)
    root = np.sqrt(chains.reach[:, None] - wanted)
    s = np.stack([np.interp(r, x, y) for r, x, y in zip(root, chains.table_root, chains.table_s)])
    step = 1e-5
    for _ in range(2):
        here = np.linalg.norm(_end_points(chains, s), axis=-1)
        slope = (np.linalg.norm(_end_points(chains, s + step), axis=-1) - here) / step
        s = s - np.clip((here - wanted) / np.where(np.abs(slope) < 1e-6, -1e-6, slope), -0.05, 0.05)
    return _aim(_end_points(chains, s), targets, chains.spread), _hinge_angles(chains, s)


def _hinge_angles(chains: LegChains, s: Float[np.ndarray, "legs n"]) -> Float[np.ndarray, "legs n hinges"]:
    """bend * s where the leg stretches, going over smoothly to fold * s where it folds far."""
    folding = np.maximum(s, 0.0)
    extra, more = folding * folding / (folding + 0.3), np.maximum(chains.fold - chains.bend, 0.0)
    return chains.bend[:, None] * s[..., None] + extra[..., None] * more[:, None]


def _end_points(chains: LegChains, s: Float[np.ndarray, "legs n"]) -> Float[np.ndarray, "legs n 3"]:
    """End relative to the hip, in the hip's frame: o1 + R1 (o2 + R2 (o3 + ...)), by Rodrigues's formula on vectors."""
    angles = _hinge_angles(chains, s)
    end = np.broadcast_to(chains.bones[:, None, -1], (*s.shape, 3))
    for k in range(chains.axes.shape[1] - 1, -1, -1):
        axis, cosine, sine = chains.axes[:, None, k], np.cos(angles[..., k, None]), np.sin(angles[..., k, None])
        along = (axis * end).sum(-1, keepdims=True)
        end = chains.bones[:, None, k] + (cosine * end + sine * np.cross(axis, end) + (1 - cosine) * along * axis)
    return end


def _aim(ends: np.ndarray, targets: np.ndarray, spread: np.ndarray) -> Float[np.ndarray, "legs frames 3 3"]:
    """Rotations that turn ends towards targets without twisting the leg's plane.

    First about one axis (lateral for hanging legs, vertical for spread ones), then the little that is left.
    """
    ex, ey, ez = np.moveaxis(ends, -1, 0)
    tx, ty, tz = np.moveaxis(targets, -1, 0)
    wide = spread[:, None]
    swing = np.arctan2(-tz, -ty) - np.arctan2(-ez, -ey)  # about +x: down (-y) towards back (-z)
    angle = np.where(wide, np.arctan2(tx, tz) - np.arctan2(ex, ez), swing)  # about +y: z towards x
    cosine, sine = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(cosine), np.ones_like(cosine)
    about_y = np.stack((cosine, zero, sine, zero, one, zero, -sine, zero, cosine), -1)
    about_x = np.stack((one, zero, zero, zero, cosine, -sine, zero, sine, cosine), -1)
    first = np.where(wide[..., None], about_y, about_x).reshape(*cosine.shape, 3, 3)
    return between((first @ ends[..., None])[..., 0], targets) @ first


def between(a: Float[np.ndarray, "*n 3"], b: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3 3"]:
    """The smallest rotation that turns direction a into direction b."""
    a, b = (v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12) for v in (a, b))
    cosine = (a * b).sum(-1)[..., None, None]
    k = np.cross(np.eye(3), np.cross(a, b)[..., None, :])
    return np.eye(3) + k + k @ k / np.maximum(1 + cosine, 1e-6)


def about(axis: Float[np.ndarray, "3"], angle: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n 3 3"]:
    """Rotation matrix about a unit axis [rad]."""
    k = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle)[..., None, None] * k + (1 - np.cos(angle))[..., None, None] * (k @ k)
