"""What the feet of a motion do: their contact points, when they stand, their common period and phases.

This is the one definition of "a foot stands". Metrics, planting, physics, the report and the viewer read it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

from kinema.geometry.rotations import is_below, runs
from kinema.motion.motion import Motion
from kinema.rig.cuboids import Cuboids, contact_corners
from kinema.rig.ik import Effector
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

Stance = Bool[np.ndarray, "frames feet"]
PerFoot = Float[np.ndarray, "frames feet"]
Paths = Float[np.ndarray, "frames feet 3"]
Velocities = Float[np.ndarray, "intervals feet 3"]
Poses = Float[Tensor, "frames joints 3 4"]
HARMONICS = 2
SHORTEST_PERIOD = 4.0
"""Frames per cycle below which nothing can be told."""
LOW = (0.2, 0.03, 0.06)
"""Height over its floor within which a foot may stand: a share of its lift, but at least and at most so much
[leg lengths]."""
LEVEL = (0.01, 6.0)
"""How much higher than usual a foot may be and still stand: at least so much [leg lengths], and so many median
deviations of its height in stance."""
BLINK_S = 0.06
"""Stances and gaps in stances that are shorter are noise of the thresholds [s]: a foot cannot bear anything in them."""
SLOW = 0.8
"""Speed below which differences between feet are noise [leg lengths per second]."""
HELD_UP = 0.15
"""Height over the other feet's floor from which on a foot is held up for the whole clip [leg lengths]."""


def find_feet(limbs: Limbs) -> tuple[Effector, ...]:
    """Contact points of each leg on its sole: where it rolls off, both ends, and the heel of a foot of two bones."""
    feet = []
    for leg in limbs.legs:
        # A peg rolls over its tip; only a foot has ends to stand on.
        points = [leg.contact, *leg.soles] if leg.foot < len(leg.joints) else [leg.contact]
        joints = [leg.joints[-1]] * len(points)
        if leg.heel is not None:
            points, joints = [*points, leg.heel], [*joints, leg.joints[leg.foot]]
        feet.append(Effector(leg.joints, tuple(joints), np.stack(points)))
    return tuple(feet)


def find_box_feet(rig: Rig, limbs: Limbs, cuboids: Cuboids) -> tuple[Effector, ...]:
    """Contact points of each leg as physics has them: corners of all cuboids below its ankle, or of its last one."""
    corners = contact_corners(rig, cuboids).numpy()
    feet = []
    for leg in limbs.legs:
        tops = leg.joints[min(leg.foot, len(leg.joints) - 1) :]
        order = [j for j in range(len(rig.parents)) if any(is_below(rig.parents, j, top) for top in tops)]
        feet.append(Effector(leg.joints, tuple(np.repeat(order, 8).tolist()), corners[order].reshape(-1, 3)))
    return tuple(feet)


def touching(feet: tuple[Effector, ...], T_world_joint: Poses) -> list[Float[Tensor, "frames _"]]:
    """Weights of each foot's contact points, towards the lowest; they sum to one."""
    return [_lowest(foot.size, foot.at(T_world_joint)[..., 1]) for foot in feet]


def _lowest(size: float, height: Float[Tensor, "n points"]) -> Float[Tensor, "n points"]:
    # A few hundredths of the foot's size count as touching.
    return torch.softmax(-height / (0.03 * size + 1e-6), -1)


def contact_paths(feet: tuple[Effector, ...], T_world_joint: Poses, *, fps: float) -> tuple[PerFoot, Velocities]:
    """`touch_path` of each foot's contact points."""
    paths = [touch_path(foot.at(T_world_joint), size=foot.size, fps=fps) for foot in feet]
    count = len(T_world_joint)
    if not paths:
        return np.zeros((count, 0)), np.zeros((max(count - 1, 0), 0, 3))
    return np.stack([height for height, _ in paths], 1), np.stack([velocity for _, velocity in paths], 1)


def touch_path(points: Float[Tensor, "frames points 3"], *, size: float, fps: float) -> tuple[np.ndarray, np.ndarray]:
    """Height of the lowest point [m], and the velocity of what touches the ground between frames [m/s].

    The velocity is that of the points themselves, weighted towards the lowest, so a foot that rolls over its toes
    stands still although its centre moves. `size` is the length of the foot [m].
    """
    points = points.double()
    weight = _lowest(size, (points[1:, :, 1] + points[:-1, :, 1]) / 2)
    return points[..., 1].amin(1).numpy(), fps * (weight[..., None] * points.diff(dim=0)).sum(1).numpy()


@dataclass(frozen=True)
class Feet:
    """Paths of the feet and of the body that they carry."""

    world: Paths
    """Where each foot rolls off the ground [m]."""
    local: Paths
    """The same relative to the body over the ground, x to its left, z ahead [m]."""
    height: PerFoot
    """Height of the lowest contact point [m]."""
    velocity: Velocities
    """Velocity of what touches the ground [m/s]: a heel that strikes and a toe that rolls off both stand."""
    body: Float[np.ndarray, "frames 3"]
    """Mean of the hips [m]."""
    heading: Float[np.ndarray, "frames"]
    """Direction of the path [rad], unwrapped, without the sway of the pelvis within a cycle."""
    fps: float
    leg: float
    """Leg length [m]."""
    loops: bool
    """The last frame repeats the first: the clip may be played round and round."""

    def under_body(self) -> Float[np.ndarray, "intervals feet 2"]:
        """Horizontal velocity of each foot relative to the body [m/s]."""
        return (self.velocity - np.diff(self.body, axis=0)[:, None] * self.fps)[..., [0, 2]]

    def back(self) -> Float[np.ndarray, "intervals feet"]:
        """Speed at which each foot goes back under the body [m/s]."""
        moved = np.diff(self.body[:, [0, 2]], axis=0) * self.fps
        moved = gaussian_filter1d(moved, 0.2 * self.fps, axis=0, mode="nearest")
        facing = np.stack((np.sin(self.heading[:-1]), np.cos(self.heading[:-1])), -1)
        speed = np.linalg.norm(moved, axis=-1, keepdims=True)
        # Where the body goes, or, while it goes nowhere, where it faces.
        ahead = np.where(speed > 0.2 * self.leg, moved / np.maximum(speed, 1e-9), facing)
        return -(self.under_body() * ahead[:, None]).sum(-1)


def track_feet(rig: Rig, limbs: Limbs, motion: Motion) -> Feet:
    """Follow the feet of a motion."""
    return track_pose(motion.pose(rig).detach().double().cpu(), limbs, fps=motion.fps)


def track_pose(T_world_joint: Poses, limbs: Limbs, *, fps: float) -> Feet:
    """Follow the feet of joints whose transforms are known, whatever moved them."""
    rotation, position = T_world_joint[..., :3].numpy(), T_world_joint[..., 3].numpy()
    ends = [leg.joints[-1] for leg in limbs.legs]
    contact = np.array([leg.contact for leg in limbs.legs]).reshape(-1, 3, 1)
    world = (rotation[:, ends] @ contact)[..., 0] + position[:, ends]
    body = position[:, [leg.joints[0] for leg in limbs.legs] or [0]].mean(1)
    time = np.arange(len(position))
    heading = np.unwrap(np.arctan2(rotation[:, 0, 0, 2], rotation[:, 0, 2, 2]))
    heading = np.polyval(np.polyfit(time, heading, min(1, len(time) - 1)), time)
    cosine, sine = np.cos(heading)[:, None], np.sin(heading)[:, None]
    x, y, z = np.moveaxis(world - (body * [1, 0, 1])[:, None], -1, 0)
    local = np.stack((cosine * x - sine * z, y, sine * x + cosine * z), -1)
    height, velocity = contact_paths(find_feet(limbs), T_world_joint, fps=fps)
    return Feet(world, local, height, velocity, body, heading, fps, limbs.leg_length, _loops(position))


def _loops(position: Float[np.ndarray, "frames joints 3"]) -> bool:
    """Is the step from the last frame to the first much smaller than steps within, root motion left out?"""
    if len(position) < 6:
        return False
    shape = position - position[:, :1]
    step = np.linalg.norm(np.diff(shape, axis=0), axis=-1).mean(-1)
    gap = np.linalg.norm(shape[-1] - shape[0], axis=-1).mean()
    return bool(step.max() > 0 and gap < 0.9 * np.median(step) + 1e-9)


def find_stance(feet: Feet) -> Stance:
    """When each foot is meant to stand, also in motions that float, sink or slide.

    A foot stands while it is about as low as it usually is when it goes back under the body, and moves, seen from the
    body, with the ground, that is as most low feet around it in time; a swinging foot moves the other way. Both count
    together: (height over its floor / low)² + (difference of velocity / speed of the ground)² <= 1. How fast or how
    high the body goes does not matter.
    """
    frames, count = feet.height.shape
    if count == 0 or frames < 2:
        return np.zeros((frames, count), dtype=bool)
    back, velocity = feet.back(), feet.under_body()
    floor = _floors(feet.height, back, feet.leg)
    share, least, most = LOW
    low = np.clip(share * (np.quantile(feet.height, 0.95, axis=0) - floor), least * feet.leg, most * feet.leg)
    raised = np.maximum(feet.height - floor, 0.0) / low
    going = (raised[1:] <= 1) & (raised[:-1] <= 1) & (back > -0.15 * feet.leg)
    window = max(1, round(0.25 * feet.fps))
    ground = np.zeros((frames - 1, 2))
    for t in range(frames - 1):
        near = slice(max(0, t - window), t + window + 1)
        ground[t] = np.median(velocity[near][going[near]], axis=0) if going[near].any() else 0.0
    speed = np.maximum(np.linalg.norm(ground, axis=-1), SLOW * feet.leg)
    differs = np.linalg.norm(velocity - ground[:, None], axis=-1) / speed[:, None]
    differs = (np.concatenate((differs[:1], differs)) + np.concatenate((differs, differs[-1:]))) / 2
    stance = (raised**2 + differs**2 <= 1) & (floor <= floor.min() + HELD_UP * feet.leg)
    return _without_blinks(stance & _level(feet.height, stance, feet.leg), BLINK_S * feet.fps)


def _level(heights: PerFoot, stance: Stance, leg: float) -> Stance:
    """Which feet are about as high as they usually stand.

    Where they stand at one height, as planted feet do, one that is higher has let go or has not arrived.
    """
    held = np.where(stance, heights, np.nan)
    held[:, ~stance.any(0)] = 0.0
    usual = np.nanmedian(held, axis=0)
    wander = np.nanmedian(np.abs(held - usual), axis=0)
    return heights - usual <= np.maximum(LEVEL[0] * leg, LEVEL[1] * wander)


def _without_blinks(stance: Stance, least: float) -> Stance:
    """Stances without gaps shorter than `least` frames, and without stances that are; those at the ends stay."""
    stance = stance.copy()
    for wanted in (False, True):
        for k, column in enumerate(stance.T.copy()):
            for first, last in runs(column == wanted):
                if last - first < least and first > 0 and last < len(column):
                    stance[first:last, k] = not wanted
    return stance


def _floors(heights: PerFoot, back: Float[np.ndarray, "intervals feet"], leg: float) -> Float[np.ndarray, "feet"]:
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


def ground_speed(feet: Feet, stance: Stance) -> float:
    """Speed of the body over the ground as its stance feet tell it, also of a clip in place [m/s]."""
    # Of the points where feet roll off: what touches may roll without moving.
    ahead = feet.fps * np.diff(feet.local[..., 2], axis=0)[stance[1:] & stance[:-1]]
    return abs(float(np.median(ahead))) if len(ahead) else 0.0


@dataclass(frozen=True)
class Cycle:
    """The common period of the feet and each foot's first harmonic."""

    period: float
    """[frames]"""
    explained: float
    """Share of the feet's variance that the harmonics explain, in [0, 1]."""
    phase: Float[np.ndarray, "feet"]
    """When each foot is farthest ahead (highest, if the feet only go up and down), in cycles."""
    reach: Float[np.ndarray, "feet"]
    """Fore-aft range of each foot [leg lengths]."""
    lift: Float[np.ndarray, "feet"]
    """Vertical range of each foot [leg lengths]."""


def find_cycle(feet: Feet) -> Cycle:
    """Least squares on harmonics at every candidate period; the shortest that explains nearly the most wins.

    A clip that loops may hold a single cycle: then the periods that close the loop are tried too.
    """
    frames, count = feet.height.shape
    reach, lift = np.ptp(feet.local[..., 2], axis=0) / feet.leg, np.ptp(feet.local[..., 1], axis=0) / feet.leg
    none = Cycle(0.0, 0.0, np.zeros(count), reach, lift)
    if not count or frames < 2 * SHORTEST_PERIOD:
        return none
    local = feet.local
    period, explained = best_period(local, np.geomspace(SHORTEST_PERIOD, frames / 1.15, 90), refine=True)
    if feet.loops and (explained < 0.97 or period > 0.7 * frames):
        local = np.tile(feet.local[:-1], (3, 1, 1))
        closing = (frames - 1) / np.arange(1, int((frames - 1) / SHORTEST_PERIOD) + 1)[::-1]
        period, explained = best_period(local, closing, refine=False)
    if explained <= 0:
        return none
    z, y = fundamental(local[..., 2], period), fundamental(local[..., 1], period)
    # In a turn the inner feet hardly move fore and aft, or the other way: their height tells the time.
    turning = abs(feet.heading[-1] - feet.heading[0]) * period / frames > 0.4 and lift.min() > 0.03
    use_height = turning or np.abs(z).mean() < 0.35 * np.abs(y).mean()
    phase = -np.angle(y if use_height else z) / (2 * np.pi)
    return Cycle(period, explained, phase % 1.0, reach, lift)


def best_period(local: Paths, candidates: Float[np.ndarray, "n"], *, refine: bool) -> tuple[float, float]:
    """Period [frames] and the share of variance that it explains."""
    # Height counts more: it is smaller than the stride but tells contacts apart.
    signals = np.concatenate((local[..., 2], 2 * local[..., 1]), 1)
    signals = signals - signals.mean(0)
    total = float((signals**2).sum())
    if total < 1e-12:
        return 0.0, 0.0
    # |Qᵀ s|² is the variance within the span of the basis.
    bases = (np.linalg.qr(_basis(len(signals), float(period)))[0] for period in candidates)
    scores = np.array([float(((Q.T @ signals) ** 2).sum()) / total for Q in bases])
    first, last = runs(scores > scores.max() - 0.06)[0]
    best = first + int(scores[first:last].argmax())
    if not refine or not 0 < best < len(candidates) - 1:
        return float(candidates[best]), float(scores[best])
    # The top of the parabola through the best and its neighbours.
    x = candidates[best - 1 : best + 2]
    curve = np.polyfit(x, scores[best - 1 : best + 2], 2)
    top = -curve[1] / (2 * curve[0]) if curve[0] < 0 else x[1]
    return float(np.clip(top, x[0], x[2])), float(scores[best])


def _basis(frames: int, period: float) -> np.ndarray:
    t = 2 * np.pi * np.arange(frames) / period
    waves = [f(k * t) for k in range(1, HARMONICS + 1) for f in (np.cos, np.sin)]
    return np.stack([np.ones(frames), *waves], -1)


def fundamental(signal: PerFoot, period: float) -> np.ndarray:
    """Complex amplitude c of Re(c e^{iωt})."""
    weights = np.linalg.lstsq(_basis(len(signal), period), signal, rcond=None)[0]
    return weights[1] - 1j * weights[2]
