"""Name a gait by the phases of the feet (Hildebrand 1965): which legs of a pair alternate, and how the pairs relate."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from kinema.motion.feet import Cycle, Feet, Stance
from kinema.rig.limbs import Limbs

GaitClass = Literal["stand", "walk", "trot", "pace", "canter", "gallop", "run", "hop", "other"]

STILL_REACH, STILL_LIFT = 0.10, 0.05
"""Ranges of the feet below which a body stands still [leg lengths]."""
PACE_LAG = 0.0625
"""Cycles between the feet of one side; Hildebrand's own line between the pace and the walk in lateral couplets."""
RUN_DUTY, VAULT, STRIDE = 0.31, 0.45, 0.08
"""A gait on two legs is a run if its feet stand for less than this share of the cycle, less so much for a body that
vaults, and more so much for each leg length of stride beyond two. Of 107 artists' and captured walks and runs 84 % are
named so (`benchmarks/motions.py two-legs`); on 98 of them these numbers were chosen."""
LEVEL = 0.04
"""Amplitude of the body's height [leg lengths] that says as much as half of what any can."""
BOUND_STEP = 2.1
"""Travel per cycle that no hop of ours reaches (1.6, at most 1.3 times that) and every gallop exceeds (3)
[leg lengths]."""


def name_gait(limbs: Limbs, feet: Feet, cycle: Cycle, stance: Stance, *, speed: float) -> GaitClass:
    """The gait of a cycle. On two legs walk and run differ by how long feet stand and by whether the body rises over
    them, and only a little by the pace; on four, gallop is also the run."""
    duty = float(stance.mean()) if stance.size else 0.0
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
        longest = RUN_DUTY - VAULT * vaults(feet, cycle, stance) + STRIDE * (float(np.clip(step, 1, 4)) - 2)
        return "run" if duty < longest else "walk"
    if alternating > 0.3:
        return "walk" if duty >= 0.5 else "run"
    return "hop" if alternating < 0.15 else "other"


def vaults(feet: Feet, cycle: Cycle, stance: Stance) -> float:
    """How the height of the body goes with its steps: towards 1 highest in mid-stance (a walk vaults over its
    legs as over stilts), towards -1 lowest then (a run bounces as on springs; Cavagna et al. 1977), 0 neither."""
    turn = np.exp(-2j * np.pi * np.arange(len(stance)) / cycle.period)[:, None]
    height = feet.body[: len(stance), 1:2] - feet.body[: len(stance), 1].mean()
    bob, steps = (height * turn**2).mean(0), (stance * turn).mean(0)
    middle = steps / np.maximum(np.abs(steps), 1e-9)
    return float((bob * middle.conj() ** 2).real.mean() / (abs(bob[0]) + 0.5 * LEVEL * feet.leg))


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
