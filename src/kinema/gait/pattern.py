"""Footfall patterns: when each foot is on the ground, how long a cycle takes, how fast the body goes.

Phases are times of touchdown as fractions of the cycle; the reference leg (front left) is at 0. Speeds come from the
Froude number v² / (g L), which animals of all sizes share for a gait (Alexander 1989), and stride frequencies from
the pendulum √(g / L).
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from kinema.errors import KinemaError
from kinema.rig.limbs import Leg

GRAVITY = 9.81

GaitName = Literal[
    "walk", "trot", "pace", "canter", "gallop", "run", "hop", "sneak", "limp", "turn_left", "turn_right",
    "stand", "jump", "sit", "look", "wave", "kick", "eat",
]  # fmt: skip
GAIT_NAMES: tuple[str, ...] = get_args(GaitName)
PERIODIC = ("walk", "trot", "pace", "canter", "gallop", "run", "hop", "sneak", "limp", "turn_left", "turn_right")


@dataclass(frozen=True)
class Gait:
    """What a periodic motion is, in numbers without dimension."""

    name: str
    duty: float
    """Fraction of the cycle that a foot is on the ground."""
    froude: float
    """v² / (g L)."""
    pendulum: float
    """Period over √(L / g)."""
    lift: float
    """Height of a swinging foot, in leg lengths."""
    bob: float
    """Vertical amplitude of the trunk, in leg lengths; positive: highest in mid-stance (walks)."""


TABLE = {
    "walk": Gait("walk", 0.64, 0.13, 3.6, 0.11, 0.012),
    "trot": Gait("trot", 0.46, 0.5, 2.4, 0.16, -0.03),
    "pace": Gait("pace", 0.48, 0.45, 2.5, 0.15, -0.025),
    "canter": Gait("canter", 0.40, 1.0, 2.4, 0.18, -0.035),
    "gallop": Gait("gallop", 0.28, 2.4, 2.1, 0.22, -0.045),
    "run": Gait("run", 0.34, 1.2, 2.3, 0.24, -0.04),
    "hop": Gait("hop", 0.38, 0.4, 2.6, 0.10, -0.12),
    "sneak": Gait("sneak", 0.74, 0.04, 5.5, 0.14, 0.008),
    "limp": Gait("limp", 0.64, 0.08, 4.0, 0.10, 0.012),
    "turn_left": Gait("turn_left", 0.64, 0.09, 3.6, 0.12, 0.012),
    "turn_right": Gait("turn_right", 0.64, 0.09, 3.6, 0.12, 0.012),
}


def gait(name: str) -> Gait:
    """The periodic gait of that name."""
    if name not in TABLE:
        raise KinemaError(f"gait {name!r}: not one of {', '.join(TABLE)}")
    return TABLE[name]


def default_speed(name: str, leg_length: float) -> float:
    """Typical speed of a gait [leg lengths per second]; 0 for what stays in place."""
    return float(np.sqrt(gait(name).froude * GRAVITY / leg_length)) if name in TABLE else 0.0


def default_period(name: str, leg_length: float) -> float:
    """Typical duration of a cycle [s]."""
    return float(gait(name).pendulum * np.sqrt(leg_length / GRAVITY))


QUADRUPED = {
    # Front left, front right, hind left, hind right. Walk: lateral sequence HL, FL, HR, FR.
    "walk": (0.0, 0.5, 0.75, 0.25),
    "trot": (0.0, 0.5, 0.5, 0.0),
    "pace": (0.0, 0.5, 0.0, 0.5),
    # Canter with the left lead: right hind alone, the diagonal together, left front alone.
    "canter": (0.0, 0.70, 0.70, 0.42),
    "gallop": (0.0, 0.12, 0.55, 0.67),
    "run": (0.0, 0.12, 0.55, 0.67),
    "hop": (0.0, 0.0, 0.45, 0.45),
}
SAME_AS = {"sneak": "walk", "limp": "walk", "turn_left": "walk", "turn_right": "walk"}


def touchdowns(name: str, legs: tuple[Leg, ...]) -> tuple[float, ...]:
    """Time of touchdown of each leg within the cycle."""
    base = SAME_AS.get(name, name)
    ranks = max((leg.rank for leg in legs), default=0) + 1
    result = []
    for leg in legs:
        right = leg.side < 0
        if base == "hop" and ranks != 2:
            result.append(0.0)
        elif ranks == 2:
            result.append(QUADRUPED[base][2 * leg.rank + right])
        elif ranks == 1:
            result.append(0.5 if right else 0.0)
        else:
            # Alternating tripods (tetrapods for eight legs), the hind legs a little ahead as waves run forward.
            wave = -0.04 * leg.rank if base == "walk" else 0.0
            result.append((0.5 * ((leg.rank + right) % 2) + wave) % 1.0)
    return tuple(result)
