"""From words and legs to a pace: how long a cycle takes and how fast the body goes."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.distill.config import Animate
from kinema.distill.prompt import read_prompt
from kinema.errors import KinemaError
from kinema.gait.kinds import Gait
from kinema.gait.motions import MOTIONS
from kinema.gait.plan import GaitBody
from kinema.prior.protocol import KnownMotion, PromptReading, VideoPrior
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

FASTER = ("fast", "quick", "hurr", "swift", "rapid", "brisk", "full speed", "sprint", "race")
SLOWER = ("slow", "calm", "leisur", "gentl", "tired", "lazil", "careful", "stroll", "amble")
ACTION_SECONDS = 2.0
"""Duration of an action that the prior tells nothing of [s]."""
LEAST_FRAMES, MOST_FRAMES = 12.0, 36.0
"""Frames of the prior that an action takes at least and at most: short ones are shown more slowly."""
FRAME_RATES = (24.0, 60.0, 120.0)
"""Frame rates of clips [1/s]; the first is the usual one."""
LEAST_CYCLE = 7
"""Frames that a cycle of a clip needs: a mouse runs nine cycles a second, of which 24 frames show nothing."""
MARGIN = 0.12
"""Time before and after an action, as a share of it."""


@dataclass(frozen=True)
class Tempo:
    """The pace of a clip, in the prior's own frames."""

    motion: str
    """The motion that the prompt was read as."""
    repeats: bool
    """A cycle, not an action."""
    period: float
    """Frames per cycle, or of the whole action; 0 for a state."""
    fps: float
    """The prior's frames per second for this character: large animals are filmed more slowly."""
    speed: float
    """[m per frame]"""
    leg_length: float
    direction: float = 0.0
    """From where the body faces to where it goes, + to the left [rad]."""
    variant: str | None = None
    """The way of doing the motion that the prior is asked for; None: any."""
    side: int = 0
    """The side that acts or leads: +1 left, -1 right, 0 either."""

    @property
    def cycle(self) -> float:
        """Frames per cycle; 0 for what does not repeat."""
        return self.period if self.repeats else 0.0

    @property
    def still(self) -> bool:
        """The prompt asks for a body that only breathes."""
        return self.motion in MOTIONS and MOTIONS[self.motion].still

    @property
    def aloft(self) -> bool:
        """The prompt asks for a body that flies or swims."""
        return self.motion in MOTIONS and MOTIONS[self.motion].aloft

    @property
    def speed_legs(self) -> float:
        """[leg lengths per frame]."""
        return self.speed / self.leg_length

    @property
    def velocity(self) -> Float[Tensor, "3"]:
        """[m per frame]"""
        return self.speed * torch.tensor([math.sin(self.direction), 0.0, math.cos(self.direction)])


def base_path(rig: Rig, tempo: Tempo, at: Float[Tensor, "times"]) -> Float[Tensor, "times 3"]:
    """Where the root is at given frame numbers if it goes at constant velocity [m]."""
    return rig.heads[0] + at[:, None] * tempo.velocity.to(at)


def read_tempo(config: Animate, prior: VideoPrior, anatomy: Anatomy, reading: PromptReading | None = None) -> Tempo:
    """The pace of a job, of the motion that its prompt is read as."""
    reading = reading or read_prompt(config, prior, anatomy.limbs.body)
    pace = {"stride": GaitBody.of(anatomy.rig, anatomy.limbs).stride, "speed": config.speed, "period": config.period}
    return choose_tempo(reading.motion, config.prompt, anatomy.limbs, prior, **pace)


def choose_tempo(
    motion: str,
    prompt: str,
    limbs: Limbs,
    prior: VideoPrior,
    *,
    stride: float = 1.0,
    speed: float | None = None,
    period: float | None = None,
) -> Tempo:
    """Natural pace of a motion for these legs, changed by words of haste or by given values [m/s], [s].

    `stride` is the share of an upright leg's stride that these legs can make (`gait.plan.GaitBody.stride`).
    """
    for name, value in (("speed", speed), ("period", period)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise KinemaError(f"--{name} {value}: must be a number not below zero")
    words = prompt.lower()
    haste = 1.15 if any(w in words for w in FASTER) else 0.8 if any(w in words for w in SLOWER) else 1.0
    known = find_known(prior, motion, limbs.body)
    way = known.way(limbs.build) if known is not None else None
    gait = MOTIONS[motion].gait if motion in MOTIONS else None
    if gait is not None and limbs.legs:
        # Speed grows faster than cadence: half of the haste goes into the stride.
        seconds = period or gait.period(limbs.leg_length) / math.sqrt(haste)
        meters = speed if speed is not None else gait.speed(limbs.leg_length) * limbs.leg_length * stride * haste
        repeats = True
    else:
        repeats = known is not None and known.repeats
        usual_s = way.seconds if way is not None else known.seconds if known is not None else ACTION_SECONDS
        seconds = period if period is not None else usual_s / haste
        usual = known.speed * limbs.leg_length * haste if known is not None and repeats else 0.0
        meters = speed if speed is not None else usual
    if prior.needs.cycle_frames is None:  # a prior that counts in seconds sees all motions at its own rate
        frames, fps = seconds * prior.needs.fps, prior.needs.fps
    elif repeats:
        frames, fps = prior.needs.cycle_frames, prior.needs.frame_rate(seconds)
    else:
        frames = min(max(seconds * prior.needs.fps, LEAST_FRAMES), MOST_FRAMES) if seconds else 0.0
        fps = frames / seconds if seconds else prior.needs.fps
    direction = gait.direction if isinstance(gait, Gait) else 0.0
    variant, side = (way.variant, way.side) if way is not None else (None, 0)
    return Tempo(motion, repeats, frames, fps, meters / fps, limbs.leg_length, direction, variant, side)


def find_known(prior: VideoPrior, motion: str, body: str) -> KnownMotion | None:
    """How a prior knows a motion: on that kind of body or, if it saw none do it, on any."""
    named = [known for known in prior.motions if known.name == motion]
    return next((known for known in named if known.body == body), named[0] if named else None)


def default_frame_rate(tempo: Tempo) -> float:
    """The usual frame rate, or for small bodies the first of the others at which a cycle has frames enough."""
    if tempo.cycle <= 0:
        return FRAME_RATES[0]
    cycle_s = tempo.cycle / tempo.fps
    return next((rate for rate in FRAME_RATES if cycle_s * rate >= LEAST_CYCLE), FRAME_RATES[-1])


def default_frames(tempo: Tempo, fps: float) -> int:
    """Two seconds, or two cycles where they take longer; an action with some time around it."""
    seconds = tempo.period / tempo.fps * (2 if tempo.repeats else 1 + 2 * MARGIN)
    least = 0.0 if tempo.period > 0 and not tempo.repeats else 2.0
    return min(120, max(round(least * fps), round(seconds * fps) + 1))
