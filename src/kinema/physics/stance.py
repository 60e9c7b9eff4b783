"""A target that can be tracked: stance feet are put on the ground and kept there, the rest of the motion is kept.

First the root's path is moved so that the feet that stand do so on average; then each foot's remaining slip is taken
up by its leg, and faded out over the swing before and after.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.motion import Motion
from kinema.physics.feet import Foot, corner_paths, find_feet, find_stance, foot_paths, phases
from kinema.physics.model import contact_corners
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs
from kinema.transforms import euler_to_matrix


def consistent_target(
    rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion, *, stance: Bool[np.ndarray, "frames feet"] | None = None
) -> Motion:
    """The motion with its stance feet at rest on the ground (float64)."""
    rig = rig.to(torch.float64)
    motion = Motion(motion.root_position.detach().double(), motion.angles.detach().double(), motion.fps)
    feet = find_feet(rig, limbs)
    if stance is None:
        stance = find_stance(rig, cuboids, limbs, motion, feet=feet)
    if len(motion) < 2 or not stance.any():
        return _above_ground(rig, cuboids, motion)
    motion = _carry_root(rig, cuboids, feet, motion, stance)
    heights, velocities = (x.numpy() for x in foot_paths(rig, cuboids, feet, motion))
    T = motion.pose(rig)
    for k, foot in enumerate(feet):
        offset = _stance_offsets(heights[:, k], velocities[:, k], stance[:, k], motion.fps)
        middle = _points(T, foot.chain[-1], contact_corners(rig, cuboids)[foot.chain[-1]].mean(0)[None])[:, 0]
        for _ in range(4):
            # A stance whose beginning is out of reach moves back as a whole, one whose end is, forwards.
            lack = _within_reach(rig, T, list(foot.chain), middle, torch.from_numpy(offset)).numpy() - offset
            for first, last in phases(stance[:, k]):
                offset[first:last] += lack[first:last].min(0) + lack[first:last].max(0)
        offset = _swing_offsets(offset, heights[:, k], stance[:, k], clearance=0.03 * limbs.leg_length)
        motion = _move_foot(rig, cuboids, foot, motion, torch.from_numpy(offset))
    return motion


def travel(rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion) -> Motion:
    """A motion made in place, with the root moved as its stance feet ask for; the angles stay."""
    rig = rig.to(torch.float64)
    motion = Motion(motion.root_position.detach().double(), motion.angles.detach().double(), motion.fps)
    feet = find_feet(rig, limbs)
    return _carry_root(rig, cuboids, feet, motion, find_stance(rig, cuboids, limbs, motion, feet=feet))


def _above_ground(rig: Rig, cuboids: Cuboids, motion: Motion) -> Motion:
    """Without any stance nothing is known but that nothing may be under the ground."""
    lowest = float(corner_paths(rig, cuboids, motion)[..., 1].min())
    lift = torch.tensor([0.0, max(0.0, -lowest), 0.0], dtype=torch.float64)
    return Motion(motion.root_position + lift, motion.angles, motion.fps)


def _carry_root(
    rig: Rig, cuboids: Cuboids, feet: tuple[Foot, ...], motion: Motion, stance: Bool[np.ndarray, "frames feet"]
) -> Motion:
    """Take the mean slip velocity and the mean height of the stance feet out of the root's path."""
    heights, velocities = (x.numpy() for x in foot_paths(rig, cuboids, feet, motion))
    both = (stance[1:] & stance[:-1]).astype(np.float64)
    weight = both.sum(1)
    slip = (velocities[..., [0, 2]] * both[..., None]).sum(1) / np.maximum(weight, 1)[:, None]
    # In flight nothing touches: the correction goes on as before and after it.
    slip = _smooth(_fill(slip, weight > 0), 0.03 * motion.fps)
    travel = np.concatenate((np.zeros((1, 2)), np.cumsum(slip, axis=0))) / motion.fps
    standing = stance.astype(np.float64)
    height = (heights * standing).sum(1) / np.maximum(standing.sum(1), 1)
    height = _smooth(_fill(height[:, None], standing.sum(1) > 0), 0.05 * motion.fps)[:, 0]
    shift = np.stack((travel[:, 0], height, travel[:, 1]), -1)
    return Motion(motion.root_position - torch.from_numpy(shift), motion.angles, motion.fps)


def _stance_offsets(
    height: Float[np.ndarray, "frames"],
    velocity: Float[np.ndarray, "intervals 3"],
    stance: Bool[np.ndarray, "frames"],
    fps: float,
) -> Float[np.ndarray, "frames 3"]:
    """How far a foot has to be moved in stance: against its slip and to the ground; about its mean place."""
    offset = np.zeros((len(stance), 3))
    for first, last in phases(stance):
        slip = np.concatenate((np.zeros((1, 3)), np.cumsum(velocity[first : last - 1], axis=0))) / fps
        offset[first:last] = slip.mean(0) - slip
        offset[first:last, 1] = -height[first:last]
    return offset


def _swing_offsets(
    offset: Float[np.ndarray, "frames 3"],
    height: Float[np.ndarray, "frames"],
    stance: Bool[np.ndarray, "frames"],
    *,
    clearance: float,
) -> Float[np.ndarray, "frames 3"]:
    """Fill the swings: from the last stance's offset to the next one's, and clear of the ground, or the foot drags."""
    frames, offset = len(stance), offset.copy()
    for first, last in phases(~stance):
        after = offset[last] if last < frames else offset[first - 1] if first > 0 else np.zeros(3)
        before = offset[first - 1] if first > 0 else after
        at = (np.arange(last - first) + 1) / (last - first + 1)
        offset[first:last] = before + (at * at * (3 - 2 * at))[:, None] * (after - before)
        rise = clearance * np.sin(np.pi * at)
        offset[first:last, 1] = np.maximum(offset[first:last, 1], rise - height[first:last])
    return offset


def _move_foot(rig: Rig, cuboids: Cuboids, foot: Foot, motion: Motion, offset: Float[Tensor, "frames 3"]) -> Motion:
    """Inverse kinematics of one leg over all frames: the foot's boxes move by `offset` and keep their orientation.

    Damped least squares, θ += Jᵀ (J Jᵀ + µ)⁻¹ error, on the corners of the foot.
    """
    corners = contact_corners(rig, cuboids)
    box = foot.chain[-1]
    # The orientation is kept loosely (corners around their centre count a third), so that short legs can reach.
    local = corners[box].mean(0) + torch.cat((torch.zeros(1, 3), 0.3 * (corners[box] - corners[box].mean(0)))).double()
    chain = list(foot.chain)
    start = motion.pose(rig)
    goal = _points(start, box, local)
    goal = goal + _within_reach(rig, start, chain, goal[:, 0], offset)[:, None]
    angles = motion.angles.clone()
    reach = float(torch.linalg.vector_norm(rig.heads[chain[0]] - rig.heads[chain[-1]])) + 1e-3
    for _ in range(12):
        T = Motion(motion.root_position, angles, motion.fps).pose(rig)
        points = _points(T, box, local)
        error = (goal - points).flatten(1)
        axes = _world_axes(rig, T, angles, chain)
        arm = points[:, None, None] - T[:, chain, None, None, :, 3]
        J = torch.linalg.cross(*torch.broadcast_tensors(axes[..., None, :], arm), dim=-1)
        J = J.flatten(1, 2).flatten(2).mT
        damping = 1e-4 * reach * reach * torch.eye(J.shape[1], dtype=J.dtype)
        step = J.mT @ torch.linalg.solve(J @ J.mT + damping, error[..., None])
        step = step.squeeze(-1).clamp(-0.2, 0.2).unflatten(-1, (len(chain), 3))
        angles = angles.index_add(1, torch.tensor(chain), step)
    return Motion(motion.root_position, angles, motion.fps)


def _within_reach(
    rig: Rig,
    T: Float[Tensor, "frames joints 3 4"],
    chain: list[int],
    foot: Float[Tensor, "frames 3"],
    offset: Float[Tensor, "frames 3"],
) -> Float[Tensor, "frames 3"]:
    """The offset, shortened sideways where the leg would have to be longer than it is."""
    heads = rig.heads[chain]
    hip = T[:, chain[0], :, 3]
    last = (foot - T[:, chain[-1], :, 3]).norm(dim=-1)
    reach = 0.98 * (heads.diff(dim=0).norm(dim=-1).sum() + last)
    # What the motion itself reaches is always allowed.
    reach = torch.maximum(reach, (foot - hip).norm(dim=-1))
    aim = foot + offset - hip
    flat = torch.stack((aim[:, 0], aim[:, 2]), -1)
    room = (reach.square() - aim[:, 1].square()).clamp(min=0).sqrt()
    scale = (room / flat.norm(dim=-1).clamp(min=1e-9)).clamp(max=1)
    goal = hip + torch.stack((aim[:, 0] * scale, aim[:, 1], aim[:, 2] * scale), -1)
    return goal - foot


def _points(
    T: Float[Tensor, "frames joints 3 4"], joint: int, local: Float[Tensor, "points 3"]
) -> Float[Tensor, "frames points 3"]:
    return local @ T[:, joint, :, :3].mT + T[:, joint, None, :, 3]


def _world_axes(
    rig: Rig, T: Float[Tensor, "frames joints 3 4"], angles: Float[Tensor, "frames joints 3"], chain: list[int]
) -> Float[Tensor, "frames chain 3 3"]:
    """Rows: the three rotation axes of each joint of the chain as they stand in the world."""
    result = []
    for j in chain:
        above = T[:, rig.parents[j], :, :3] if j else torch.eye(3, dtype=T.dtype).expand(len(T), 3, 3)
        frame = above @ rig.axes[j]
        a, b, _ = angles[:, j].unbind(-1)
        zero = torch.zeros_like(a)
        first = frame[..., 0]
        second = (frame @ euler_to_matrix(torch.stack((a, zero, zero), -1)))[..., 1]
        third = (frame @ euler_to_matrix(torch.stack((a, b, zero), -1)))[..., 2]
        result.append(torch.stack((first, second, third), 1))
    return torch.stack(result, 1)


def _fill(values: Float[np.ndarray, "n k"], known: Bool[np.ndarray, "n"]) -> Float[np.ndarray, "n k"]:
    """Linear between known rows, constant beyond them."""
    at = np.arange(len(values))
    return np.stack([np.interp(at, at[known], column[known]) if known.any() else column * 0 for column in values.T], -1)


def _smooth(values: Float[np.ndarray, "n k"], sigma: float) -> Float[np.ndarray, "n k"]:
    """Gaussian filter along the first axis, the ends held."""
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(values, max(sigma, 1e-3), axis=0, mode="nearest")
