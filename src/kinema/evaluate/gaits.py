"""Name a gait by the phases of the feet (Hildebrand 1965): which legs of a pair alternate, and how the pairs relate."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from kinema.motion.feet import Cycle, Feet
from kinema.rig.limbs import Limbs

GaitClass = Literal["stand", "walk", "trot", "pace", "canter", "gallop", "run", "hop", "other"]

STILL_REACH, STILL_LIFT = 0.10, 0.05
"""Ranges of the feet below which a body stands still [leg lengths]."""
PACE_LAG = 0.0625
"""Cycles between the feet of one side; Hildebrand's own line between the pace and the walk in lateral couplets."""
BOUND_STEP = 2.1
"""Travel per cycle that no hop of ours reaches (1.6, at most 1.3 times that) and every gallop exceeds (3)
[leg lengths]."""


def name_gait(limbs: Limbs, feet: Feet, cycle: Cycle, *, duty: float, speed: float) -> GaitClass:
    """The gait of a cycle. On two legs walk and run differ by the flight phase; on four, gallop is also the run."""
    if not limbs.legs:
        return "other"
    moved = np.ptp(feet.world, axis=0) / feet.leg
    still = np.hypot(moved[:, 0], moved[:, 2]).max() < STILL_REACH and moved[:, 1].max() < STILL_LIFT
    # Shifting the weight: the feet hardly leave the ground and carry the body nowhere.
    step = speed / feet.leg * cycle.period / feet.fps
    shifts = step < 0.1 and cycle.lift.mean() < 0.08
    if still or shifts or (duty > 0.93 and cycle.reach.mean() < STILL_REACH):
        return "stand"
    if cycle.explained < 0.6 or cycle.period <= 0:
        return "other"
    relative = (cycle.phase - cycle.phase[0]) % 1.0
    if len(limbs.legs) == 4 and max(leg.rank for leg in limbs.legs) == 1:
        return _four(limbs, relative, duty, step)
    pairs = _pair_offsets(limbs, relative)
    if not pairs:
        return "other"
    alternating = float(np.mean([abs(offset) for offset in pairs]))
    if alternating > 0.3 and len(limbs.legs) == 2:
        # Two legs: a run takes more than two leg lengths per cycle, the more the longer its feet stand. (Flight alone
        # is no measure: motion capture puts soles centimetres off the ground.)
        return "run" if step > 1.85 + 0.8 * float(np.clip(duty - 0.4, -0.1, 0.2)) else "walk"
    if alternating > 0.3:
        return "walk" if duty >= 0.5 else "run"
    return "hop" if alternating < 0.15 else "other"


def _four(limbs: Limbs, phase: Float[np.ndarray, "legs"], duty: float, step: float) -> GaitClass:
    """The gait of four legs; `step` is the travel per cycle [leg lengths]."""
    fore, hind = _pair_offsets(limbs, phase)
    at = {(leg.rank, leg.side): float(p) for p, leg in zip(phase, limbs.legs)}
    near, far = sorted((abs(fore), abs(hind)))
    if near > 0.34:
        # Symmetrical gaits differ by the lag of the hind foot to the fore foot of the same side.
        lags = [_wrap(at[1, side] - at[0, side]) for side in (1, -1)]
        lag = _wrap(np.angle(np.exp(2j * np.pi * np.array(lags)).sum()) / (2 * np.pi))
        if abs(lag) < PACE_LAG:
            return "pace"
        # Diagonal feet together with all four down in between is a walk still, however slow.
        return "trot" if abs(abs(lag) - 0.5) < 0.12 and duty < 0.62 else "walk"
    if far < 0.05:
        # Both feet of a pair at once: a rabbit hops one and a half leg lengths far, a galloping animal that bounds
        # goes twice as far, fore and hind pair in turn.
        return "gallop" if step > BOUND_STEP and abs(_wrap(at[1, 1] - at[0, 1])) > 0.25 else "hop"
    return "canter" if far >= 0.34 or (near > 0.22 and far < 0.42) else "gallop"


def _wrap(x: float) -> float:
    return float((x + 0.5) % 1.0 - 0.5)


def _pair_offsets(limbs: Limbs, phase: np.ndarray) -> list[float]:
    """Right relative to left of each pair, in (-0.5, 0.5]."""
    at = {(leg.rank, leg.side): float(p) for p, leg in zip(phase, limbs.legs)}
    return [_wrap(at[rank, -1] - p) for (rank, side), p in sorted(at.items()) if side == 1 and (rank, -1) in at]
