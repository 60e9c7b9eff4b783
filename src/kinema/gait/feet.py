"""What the feet do: their paths, period, phases and contacts, of clips that travel and of clips in place."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

HARMONICS = 2
SHORTEST = 4.0
"""Frames per cycle below which nothing can be told."""


@dataclass(frozen=True)
class Feet:
    """Contact points in time."""

    world: Float[np.ndarray, "legs frames 3"]
    """[m]"""
    local: Float[np.ndarray, "legs frames 3"]
    """Relative to the body over the ground, x to its left, z ahead [m]."""
    height: Float[np.ndarray, "legs frames"]
    """Of the lowest point of each sole over the ground [m]."""
    velocity: Float[np.ndarray, "legs frames 3"]
    """Of that point of the foot [m/s]: a heel that strikes and a toe that rolls off both stand."""
    body: Float[np.ndarray, "frames 3"]
    """Mean of the hips [m]."""
    heading: Float[np.ndarray, "frames"]
    """[rad], unwrapped."""
    fps: float
    leg: float
    loops: bool
    """The last frame repeats the first: the clip may be played round and round."""


def without_stills(motion: Motion) -> Motion:
    """Drop frozen frames at the ends: some clips hold their last pose."""
    step = motion.angles.detach().diff(dim=0).abs().amax((1, 2)) if len(motion) > 1 else motion.angles.new_zeros(0)
    moving = (step > 1e-3 * step.max()).nonzero().flatten() if len(step) and step.max() > 1e-6 else step.new_zeros(0)
    if len(moving) < 2 * SHORTEST:
        return motion
    return motion[int(moving[0]) : int(moving[-1]) + 2]


def track_feet(rig: Rig, limbs: Limbs, motion: Motion) -> Feet:
    """Follow every leg's contact point."""
    return follow_feet(motion.pose(rig).detach().double().cpu().numpy(), limbs, fps=motion.fps)


def follow_feet(T_world_joint: Float[np.ndarray, "frames joints 3 4"], limbs: Limbs, *, fps: float) -> Feet:
    """The same for joints whose transforms are known, whatever moved them."""
    rotation, position = T_world_joint[..., :3], T_world_joint[..., 3]
    world = np.stack(
        [(rotation[:, g.joints[-1]] @ g.contact) + position[:, g.joints[-1]] for g in limbs.legs]
    ) if limbs.legs else np.zeros((0, len(position), 3))  # fmt: skip
    body = np.mean([position[:, g.joints[0]] for g in limbs.legs], 0) if limbs.legs else position[:, 0]
    ahead = rotation[:, 0, :, 2]
    heading = np.unwrap(np.arctan2(ahead[:, 0], ahead[:, 2]))
    # Heading of the path, not of the pelvis's sway within a cycle.
    smooth = np.polyval(np.polyfit(np.arange(len(heading)), heading, 1), np.arange(len(heading)))
    cosine, sine = np.cos(smooth), np.sin(smooth)
    away = world - body * [1, 0, 1]
    local = np.stack((cosine * away[..., 0] - sine * away[..., 2], away[..., 1],
                      sine * away[..., 0] + cosine * away[..., 2]), -1)  # fmt: skip
    height, velocity = _soles(rotation, position, limbs, fps)
    return Feet(world, local, height, velocity, body, smooth, fps, limbs.leg_length, _loops(position))


def _soles(
    rotation: np.ndarray, position: np.ndarray, limbs: Limbs, fps: float
) -> tuple[Float[np.ndarray, "legs frames"], Float[np.ndarray, "legs frames 3"]]:
    heights, velocities = np.zeros((len(limbs.legs), len(position))), np.zeros((len(limbs.legs), len(position), 3))
    for i, leg in enumerate(limbs.legs):
        j = leg.joints[-1]
        # A peg rolls over its tip; only a foot has ends to stand on.
        points = np.concatenate((leg.contact[None], leg.soles)) if leg.foot < len(leg.joints) else leg.contact[None]
        tracks = (rotation[:, j, None] @ points[..., None])[..., 0] + position[:, j, None]
        if leg.heel is not None:
            k = leg.joints[leg.foot]
            heel = (rotation[:, k] @ leg.heel) + position[:, k]
            tracks = np.concatenate((tracks, heel[:, None]), 1)
        speeds = np.gradient(tracks, axis=0) * fps if len(tracks) > 1 else np.zeros_like(tracks)
        lowest = tracks[..., 1].argmin(1)
        heights[i] = tracks[np.arange(len(tracks)), lowest, 1]
        velocities[i] = speeds[np.arange(len(tracks)), lowest]
    return heights, velocities


def _loops(position: Float[np.ndarray, "frames joints 3"]) -> bool:
    """Is the step from the last frame to the first much smaller than steps within, root motion left out?"""
    if len(position) < 6:
        return False
    shape = position - position[:, :1]
    step = np.linalg.norm(np.diff(shape, axis=0), axis=-1).mean(-1)
    gap = np.linalg.norm(shape[-1] - shape[0], axis=-1).mean()
    return bool(step.max() > 0 and gap < 0.9 * np.median(step) + 1e-9)


@dataclass(frozen=True)
class Cycle:
    """The common period of the feet and each foot's first harmonic."""

    period: float
    """[frames]"""
    explained: float
    """Share of the feet's variance that the harmonics explain, in [0, 1]."""
    phase: Float[np.ndarray, "legs"]
    """When each foot is farthest ahead (highest, if the feet only go up and down), in cycles."""
    reach: Float[np.ndarray, "legs"]
    """Fore-aft range of each foot [leg lengths]."""
    lift: Float[np.ndarray, "legs"]
    """Vertical range of each foot [leg lengths]."""


def find_cycle(feet: Feet) -> Cycle:
    """Least squares on harmonics at every candidate period; the shortest that explains nearly the most wins.

    A clip that loops may hold a single cycle: then the periods that close the loop are tried too.
    """
    reach, lift = np.ptp(feet.local[..., 2], axis=1) / feet.leg, np.ptp(feet.local[..., 1], axis=1) / feet.leg
    frames = feet.local.shape[1]
    none = Cycle(0.0, 0.0, np.zeros(len(feet.local)), reach, lift)
    if not len(feet.local) or frames < 2 * SHORTEST:
        return none
    candidates = np.geomspace(SHORTEST, frames / 1.15, 90)
    period, explained = _best_period(feet.local, candidates, refine=True)
    local = feet.local
    if feet.loops and (explained < 0.97 or period > 0.7 * frames):
        local = np.tile(feet.local[:, :-1], (1, 3, 1))
        closing = (frames - 1) / np.arange(1, int((frames - 1) / SHORTEST) + 1)[::-1]
        period, explained = _best_period(local, closing, refine=False)
    if explained <= 0:
        return none
    z, y = _fundamental(local[..., 2], period), _fundamental(local[..., 1], period)
    # In a turn the inner feet hardly move fore and aft, or the other way: their height tells the time.
    turning = abs(feet.heading[-1] - feet.heading[0]) * period / frames > 0.4 and lift.min() > 0.03
    use_height = turning or np.abs(z).mean() < 0.35 * np.abs(y).mean()
    phase = -np.angle(y if use_height else z) / (2 * np.pi)
    return Cycle(period, explained, phase % 1.0, reach, lift)


def _best_period(
    local: Float[np.ndarray, "legs frames 3"], candidates: Float[np.ndarray, "n"], *, refine: bool
) -> tuple[float, float]:
    """Period [frames] and the share of variance that it explains."""
    # Height counts more: it is smaller than the stride but tells contacts apart.
    signals = np.concatenate((local[..., 2], 2 * local[..., 1]), 0).T
    signals = signals - signals.mean(0)
    total = float((signals**2).sum())
    if total < 1e-12:
        return 0.0, 0.0
    scores = np.array([_explained(signals, total, float(period)) for period in candidates])
    good = scores > scores.max() - 0.06
    # The first run of good candidates, and the best of it.
    first = int(good.argmax())
    last = first + int((~good[first:]).argmax()) if not good[first:].all() else len(good)
    best = first + int(scores[first:last].argmax())
    period = float(candidates[best])
    if refine and 0 < best < len(candidates) - 1:
        period = _refine(candidates[best - 1 : best + 2], scores[best - 1 : best + 2])
    return period, float(scores[best])


def _basis(frames: int, period: float) -> np.ndarray:
    t = 2 * np.pi * np.arange(frames) / period
    waves = [f(k * t) for k in range(1, HARMONICS + 1) for f in (np.cos, np.sin)]
    return np.stack([np.ones(frames), *waves], -1)


def _explained(signals: np.ndarray, total: float, period: float) -> float:
    # |Qᵀ s|² is the variance within the span of the basis.
    orthonormal = np.linalg.qr(_basis(len(signals), period))[0]
    return float(((orthonormal.T @ signals) ** 2).sum()) / total


def _fundamental(signal: Float[np.ndarray, "legs frames"], period: float) -> np.ndarray:
    """Complex amplitude c of Re(c e^{iωt})."""
    weights = np.linalg.lstsq(_basis(signal.shape[1], period), signal.T, rcond=None)[0]
    return weights[1] - 1j * weights[2]


def _refine(x: np.ndarray, y: np.ndarray) -> float:
    """Top of the parabola through three points."""
    curve = np.polyfit(x, y, 2)
    top = -curve[1] / (2 * curve[0]) if curve[0] < 0 else x[1]
    return float(np.clip(top, x[0], x[2]))


@dataclass(frozen=True)
class Stance:
    """Which feet stand."""

    near: Bool[np.ndarray, "legs frames"]
    """The sole is near its lowest and does not swing forward; it may slide."""
    carrying: Bool[np.ndarray, "legs frames"]
    """It is near and goes back under the body about as fast as the others."""
    speed: float
    """Of the body over the ground, as those feet tell it [m/s]."""


def find_stance(feet: Feet) -> Stance:
    """Judge by the height of the soles, then by their speed under the body."""
    low = np.quantile(feet.height, 0.15, axis=1, keepdims=True)
    limit = np.maximum(0.12 * np.ptp(feet.height, axis=1, keepdims=True), 0.012 * feet.leg)
    low_enough = feet.height - low <= limit
    ahead = np.stack((np.sin(feet.heading), np.cos(feet.heading)), -1)
    moving = np.gradient(feet.body[:, [0, 2]], axis=0) * feet.fps
    back = -((feet.velocity[..., [0, 2]] - moving) * ahead).sum(-1)
    carried = back[low_enough & (back > 0)]
    typical = float(np.median(carried)) if len(carried) else 0.0
    near = low_enough & (back > -0.3 * typical - 0.05 * feet.leg * feet.fps / 24)
    return Stance(near, low_enough & (back > 0.5 * typical - 0.01 * feet.leg), typical)
