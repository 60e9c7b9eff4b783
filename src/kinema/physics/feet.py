"""What of a body stands on the ground, and when: feet as corners of the simulated boxes, stance phases in time."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.motion import Motion
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs


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
    """Every box corner in the world [m]."""
    T = motion.pose(rig)
    corners = torch.from_numpy(cuboids.corners).to(T)
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

    A foot stands while it is near its own lowest height and moves as the other low feet do: a sliding root gives all
    stance feet the same velocity, a swinging foot has another one.
    """
    feet = find_feet(rig, limbs) if feet is None else feet
    heights, velocities = (x.detach().double().cpu().numpy() for x in foot_paths(rig, cuboids, feet, motion))
    frames, count = heights.shape
    if count == 0 or frames < 2:
        return np.zeros((frames, count), dtype=bool)
    floor = np.quantile(heights, 0.05, axis=0)
    lift = np.quantile(heights, 0.95, axis=0) - floor
    near = np.clip(0.2 * lift, 0.01 * limbs.leg_length, 0.05 * limbs.leg_length)
    low = heights <= floor + near
    # A foot that is held up for the whole clip (a raised paw) has its own floor far above the others'.
    low &= floor <= floor.min() + 0.15 * limbs.leg_length
    return _tidy(_moves_with_the_ground(low, velocities[..., [0, 2]], motion.fps, limbs.leg_length))


def _moves_with_the_ground(
    low: Bool[np.ndarray, "frames feet"], velocity: Float[np.ndarray, "intervals feet 2"], fps: float, leg: float
) -> Bool[np.ndarray, "frames feet"]:
    """Of the low feet, those within a leg-length-scaled band of the median velocity of the low feet around them."""
    frames = len(low)
    both = low[1:] & low[:-1]
    window = max(1, round(0.15 * fps))
    keep = np.zeros_like(low)
    for t in range(frames - 1):
        near = slice(max(0, t - window), t + window + 1)
        chosen = velocity[near][both[near]]
        if len(chosen) == 0:
            continue
        ground = np.median(chosen, axis=0)
        spread = np.linalg.norm(velocity[t] - ground, axis=-1)
        band = max(0.6 * leg, 0.5 * np.linalg.norm(ground))
        good = both[t] & (spread < band)
        keep[t] |= good
        keep[t + 1] |= good
    return keep


def _tidy(stance: Bool[np.ndarray, "frames feet"]) -> Bool[np.ndarray, "frames feet"]:
    """Close gaps of one frame and drop phases of one frame."""
    result = stance.copy()
    result[1:-1] |= stance[:-2] & stance[2:]
    padded = np.pad(result, ((1, 1), (0, 0)))
    return result & (padded[:-2] | padded[2:])


def phases(stance: Bool[np.ndarray, "frames"]) -> list[tuple[int, int]]:
    """First and one past the last frame of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], stance.astype(np.int8), [0]))))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
