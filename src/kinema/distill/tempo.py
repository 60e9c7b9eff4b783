"""From words and legs to a pace: how long a cycle takes and how fast the body goes."""

import math
from dataclasses import dataclass

from kinema.errors import KinemaError
from kinema.gait.motions import MOTIONS
from kinema.rig.limbs import Limbs

CYCLE_FRAMES = 9.0
"""Frames of the prior per gait cycle: a window of 16 then shows almost two."""
ACTION_FPS = 8.0

FASTER = ("fast", "quick", "hurr", "swift", "rapid", "brisk", "full speed", "sprint", "race")
SLOWER = ("slow", "calm", "leisur", "gentl", "tired", "lazil", "careful", "stroll", "amble")


@dataclass(frozen=True)
class Tempo:
    """The pace of a clip, in the prior's own frames."""

    motion: str
    """The trained class that the prompt was read as."""
    period: float
    """Frames per cycle; 0 for an action."""
    fps: float
    """The prior's frames per second for this character: large animals are filmed more slowly."""
    speed: float
    """Along the facing direction [m per frame]."""
    leg_length: float

    @property
    def still(self) -> bool:
        """The prompt asks for a body that only breathes."""
        return self.motion in MOTIONS and MOTIONS[self.motion].still

    @property
    def speed_legs(self) -> float:
        """[leg lengths per frame]."""
        return self.speed / self.leg_length


def choose_tempo(
    motion: str,
    prompt: str,
    limbs: Limbs,
    *,
    stride: float = 1.0,
    speed: float | None = None,
    period: float | None = None,
) -> Tempo:
    """Natural pace of a motion for these legs, changed by words of haste or by given values [m/s], [s].

    Args:
        stride: Share of an upright leg's stride that these legs can make (`gait.plan.GaitBody.stride`).
    """
    for name, value in (("speed", speed), ("period", period)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise KinemaError(f"--{name} {value}: must be a number not below zero")
    words = prompt.lower()
    haste = 1.15 if any(w in words for w in FASTER) else 0.8 if any(w in words for w in SLOWER) else 1.0
    gait = MOTIONS[motion].gait if motion in MOTIONS else None
    if gait is None:
        fps = ACTION_FPS if period is None else 16 / max(period, 1e-3)
        return Tempo(motion, 0.0, fps, (speed or 0.0) / fps, limbs.leg_length)
    # Speed grows faster than cadence: half of the haste goes into the stride.
    seconds = period or gait.period(limbs.leg_length) / math.sqrt(haste)
    meters = speed if speed is not None else gait.speed(limbs.leg_length) * limbs.leg_length * stride * haste
    fps = CYCLE_FRAMES / seconds
    return Tempo(motion, CYCLE_FRAMES, fps, meters / fps, limbs.leg_length)


def default_frames(tempo: Tempo, fps: float) -> int:
    """Two seconds, or two cycles where they take longer: a clip with less does not show the gait."""
    return min(120, max(round(2 * fps), round(2 * tempo.period / tempo.fps * fps) + 1))
