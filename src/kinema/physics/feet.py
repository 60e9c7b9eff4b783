"""What of a body stands on the ground, and when: feet as corners of the simulated boxes, stance phases in time."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.motion.motion import Motion
from kinema.physics.model import contact_corners
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

LOOSE = 1.3
"""A stance may rise this much beyond the height that it has to come below."""
SLOWEST, FASTEST = 0.25, 2.2
"""Speeds at which a foot may go with the ground: made by hand, front and hind feet may differ by a factor of two."""


@dataclass(frozen=True)
class Foot:
    """The lowest part of a leg: the boxes that touch the ground and the joints that can move them."""

    chain: tuple[int, ...]
    """Joints from the hip to the sole."""
    boxes: tuple[int, ...]
    """Joints whose boxes are the foot."""


def find_feet(rig: Rig, limbs: Limbs) -> tuple[Foot, ...]:
    """One per leg: everything from below its ankle, or its last joint."""
    feet = []
    for leg in limbs.legs:
        tops = set(leg.joints[min(leg.foot, len(leg.joints) - 1) :])
        boxes = set(tops)
        for j, parent in enumerate(rig.parents):
            if parent in boxes:
                boxes.add(j)
        feet.append(Foot(leg.joints, tuple(sorted(boxes))))
    return tuple(feet)


def corner_paths(rig: Rig, cuboids: Cuboids, motion: Motion) -> Float[Tensor, "frames joints 8 3"]:
    """Every point that can touch the ground, in the world [m]."""
    T = motion.pose(rig)
    corners = contact_corners(rig, cuboids).to(T)
    return (T[:, :, None, :, :3] @ corners[..., None]).squeeze(-1) + T[:, :, None, :, 3]


def foot_paths(
    rig: Rig, cuboids: Cuboids, feet: tuple[Foot, ...], motion: Motion
) -> tuple[Float[Tensor, "frames feet"], Float[Tensor, "intervals feet 3"]]:
    """Height of each foot's lowest corner [m], and the velocity of what touches the ground between frames [m/s].

    The velocity is that of the corners themselves, weighted towards the lowest (a few millimetres count as touching),
    so a foot that rolls over its toes stands still although its centre moves.
    """
    corners = corner_paths(rig, cuboids, motion)
    heights, velocities = [], []
    for foot in feet:
        points = corners[:, list(foot.boxes)].flatten(1, 2)
        heights.append(points[..., 1].amin(1))
        moved = (points[1:] - points[:-1]) * motion.fps
        middle = (points[1:, :, 1] + points[:-1, :, 1]) / 2
        size = float(np.ptp(cuboids.corners[list(foot.boxes)], axis=(0, 1)).max())
        weight = torch.softmax(-middle / (0.03 * size + 1e-6), -1)
        velocities.append((weight[..., None] * moved).sum(1))
    if not feet:
        empty = corners.new_zeros(len(motion), 0)
        return empty, corners.new_zeros(max(len(motion) - 1, 0), 0, 3)
    return torch.stack(heights, 1), torch.stack(velocities, 1)


def find_stance(
    rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion, *, feet: tuple[Foot, ...] | None = None
) -> Bool[np.ndarray, "frames feet"]:
    """When each foot is meant to stand, for motions that may float, sink or slide.

    A foot stands while it is about as low as it usually is when it goes back under the body, and moves, seen from the
    root, with the ground, that is with most such feet; a swinging foot moves the other way. How fast or how high the
    root goes does not matter.
    """
    feet = find_feet(rig, limbs) if feet is None else feet
    heights, velocities = (x.detach().double().cpu().numpy() for x in foot_paths(rig, cuboids, feet, motion))
    frames, count = heights.shape
    if count == 0 or frames < 2:
        return np.zeros((frames, count), dtype=bool)
    leg = limbs.leg_length
    root = motion.root_position.detach().double().cpu().numpy()
    relative = (velocities - np.diff(root, axis=0)[:, None] * motion.fps)[..., [0, 2]]
    back = -(relative * _ahead(rig, motion, leg)[:, None]).sum(-1)
    floor = _floors(heights, back, leg)
    lift = np.quantile(heights, 0.95, axis=0) - floor
    near = np.clip(0.25 * lift, 0.01 * leg, 0.05 * leg)
    low = _hysteresis(heights <= floor + near, heights <= floor + LOOSE * near)
    # A foot that is held up for the whole clip (a raised paw) has its own floor far above the others'.
    low &= floor <= floor.min() + 0.15 * leg
    return _tidy(_moves_with_the_ground(low, relative, back, motion.fps, leg))


def _ahead(rig: Rig, motion: Motion, leg: float) -> Float[np.ndarray, "intervals 2"]:
    """Unit vectors over the ground: where the root goes, or, while it goes nowhere, where it faces."""
    from scipy.ndimage import gaussian_filter1d

    pose = motion.pose(rig)[:, 0].detach().double().cpu().numpy()
    moved = np.diff(pose[:, [0, 2], 3], axis=0) * motion.fps
    moved = gaussian_filter1d(moved, 0.2 * motion.fps, axis=0, mode="nearest")
    facing = pose[:-1, [0, 2], 2] / np.maximum(np.linalg.norm(pose[:-1, [0, 2], 2], axis=-1, keepdims=True), 1e-9)
    speed = np.linalg.norm(moved, axis=-1, keepdims=True)
    return np.where(speed > 0.2 * leg, moved / np.maximum(speed, 1e-9), facing)


def _floors(
    heights: Float[np.ndarray, "frames feet"], back: Float[np.ndarray, "intervals feet"], leg: float
) -> Float[np.ndarray, "feet"]:
    """The height at which each foot goes back: a low quantile, weighted by how far it goes there.

    A swinging paw may dip lower than it ever stands, and a foot that is thrown up behind goes back too; so each
    interval counts at most as far as is usual.
    """
    middle = (heights[1:] + heights[:-1]) / 2
    usual = float(np.median(back[back > 0])) if (back > 0).any() else 0.0
    weight = np.clip(back, 0.0, usual) + 0.02 * leg
    order = np.argsort(middle, axis=0)
    share = np.cumsum(np.take_along_axis(weight, order, 0), axis=0)
    at = (share < 0.3 * share[-1]).sum(0)
    return np.take_along_axis(middle, np.take_along_axis(order, at[None], 0), 0)[0]


def _hysteresis(
    strict: Bool[np.ndarray, "frames feet"], loose: Bool[np.ndarray, "frames feet"]
) -> Bool[np.ndarray, "frames feet"]:
    """Runs of the loose that hold something strict."""
    result = np.zeros_like(loose)
    for k in range(loose.shape[1]):
        for first, last in phases(loose[:, k]):
            result[first:last, k] = strict[first:last, k].any()
    return result


def _moves_with_the_ground(
    low: Bool[np.ndarray, "frames feet"],
    velocity: Float[np.ndarray, "intervals feet 2"],
    back: Float[np.ndarray, "intervals feet"],
    fps: float,
    leg: float,
) -> Bool[np.ndarray, "frames feet"]:
    """Of the low feet, those that move about as the median of the low feet around them in time."""
    both = low[1:] & low[:-1]
    window = max(1, round(0.15 * fps))
    keep = np.zeros_like(low)
    for t in range(len(velocity)):
        near = slice(max(0, t - window), t + window + 1)
        going = both[near] & (back[near] > -0.15 * leg)
        chosen = velocity[near][going]
        if len(chosen) == 0:
            continue
        ground = np.median(chosen, axis=0)
        speed = max(float(np.linalg.norm(ground)), 1e-9)
        along = velocity[t] @ ground / speed
        across = np.abs(velocity[t] @ np.array([-ground[1], ground[0]])) / speed
        # While nothing travels, slow feet stand.
        same = (along > SLOWEST * speed) & (along < FASTEST * speed) & (across < 0.5 * speed)
        slow = (np.linalg.norm(velocity[t], axis=-1) < 0.15 * leg) & (speed < 0.15 * leg)
        good = both[t] & (same | slow)
        keep[t] |= good
        keep[t + 1] |= good
    return keep


def _tidy(stance: Bool[np.ndarray, "frames feet"]) -> Bool[np.ndarray, "frames feet"]:
    """Close gaps of one or two frames and drop phases of one frame."""
    result = stance.copy()
    for k in range(stance.shape[1]):
        for first, last in phases(~stance[:, k]):
            if last - first <= 2 and first > 0 and last < len(stance):
                result[first:last, k] = True
    padded = np.pad(result, ((1, 1), (0, 0)))
    return result & (padded[:-2] | padded[2:])


def phases(stance: Bool[np.ndarray, "frames"]) -> list[tuple[int, int]]:
    """First and one past the last frame of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], stance.astype(np.int8), [0]))))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
