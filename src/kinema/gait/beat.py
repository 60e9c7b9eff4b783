"""When a cycle begins: the front left foot touches down, the tail crosses to the left, or the wings are highest."""

from dataclasses import dataclass

import numpy as np

from kinema.gait.plan import GaitBody
from kinema.motion.feet import Feet, best_period, find_cycle, fundamental, track_feet
from kinema.motion.motion import Motion

WING_BEATS = frozenset(("fly", "flap", "glide"))
"""Motions whose time the wings tell."""
TAIL_BEATS = frozenset(("swim", "swim_fast", "slither", "sidewind"))
"""Motions whose time the tail tells, on bodies without legs."""


@dataclass(frozen=True)
class Beat:
    """A cycle in a motion, in frames."""

    period: float
    explained: float
    """Share of the movement that repeats with the period, in [0, 1]."""
    begin: float
    """A time when a cycle begins."""
    begin_mirrored: float
    """The same of the motion's mirror image: the front right foot touches down, the tail crosses to the right."""


def find_beat(body: GaitBody, motion: Motion, name: str, *, duty: float = 0.5) -> Beat:
    """The cycle of a motion; `duty` is the share of it that a foot stands, where that is known."""
    feet = track_feet(body.rig, body.limbs, motion)
    wings = body.limbs.limbs_of("wing")
    if name in WING_BEATS and wings:
        height = np.mean([_tip(body, motion, wing.joints[-1])[:, 1] for wing in wings], 0)
        period, explained, top = _harmonic(height, feet)
        return Beat(period, explained, top, top)
    if body.limbs.legs and name not in WING_BEATS:
        cycle = find_cycle(feet)
        if cycle.period <= 0:
            return Beat(0.0, 0.0, 0.0, 0.0)
        # With stance at constant speed, a foot's first harmonic is farthest ahead (duty - 0.5) / 2 after touchdown.
        down = (cycle.phase - 0.5 * (duty - 0.5)) * cycle.period
        right = next((i for i, leg in enumerate(body.limbs.legs) if leg.side < 0 and leg.rank == 0), 0)
        return Beat(cycle.period, cycle.explained, float(down[0]), float(down[right]))
    tip = _tip(body, motion, _hindmost(body))
    # Whales and dolphins beat their tails up and down.
    axis = 0 if tip[:, 0].std() >= tip[:, 1].std() else 1
    period, explained, top = _harmonic(tip[:, axis], feet)
    crossing = top - period / 4
    return Beat(period, explained, crossing, crossing + (period / 2 if axis == 0 else 0.0))


def _harmonic(signal: np.ndarray, feet: Feet) -> tuple[float, float, float]:
    """Period, the share that it explains, and the time when the first harmonic is highest [frames]."""
    frames, signal = len(signal), signal - signal.mean()
    if feet.loops:
        signal, candidates = np.tile(signal[:-1], 3), (frames - 1) / np.arange(1, max(2, (frames - 1) // 4) + 1)[::-1]
    else:
        candidates = np.geomspace(4.0, frames / 1.15, 90)
    paths = np.stack((0 * signal, 0 * signal, signal), -1)[:, None]
    period, explained = best_period(paths, candidates, refine=not feet.loops)
    if period <= 0:
        return 0.0, 0.0, 0.0
    turn = -float(np.angle(fundamental(signal[:, None], period))[0]) / (2 * np.pi)
    return period, explained, (turn % 1.0) * period


def _hindmost(body: GaitBody) -> int:
    """The last joint of the tail; without one, the joint farthest behind."""
    return body.limbs.tail[-1] if body.limbs.tail else int(body.heads[1:, 2].argmin()) + 1 if len(body.heads) > 1 else 0


def _tip(body: GaitBody, motion: Motion, joint: int) -> np.ndarray:
    """Path of the flesh that is farthest out on a joint, seen from joint 0's place [frames, 3]."""
    pose = motion.pose(body.rig).detach().double().cpu().numpy()
    away = body.limbs.probes[joint, 2]
    return pose[:, joint, :, :3] @ away + pose[:, joint, :, 3] - pose[:, 0, :, 3]
