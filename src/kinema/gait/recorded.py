"""Windows of recorded motion with their labels: where a window begins, how fast it plays, on which body."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from kinema.errors import KinemaError
from kinema.gait.beat import TAIL_BEATS, WING_BEATS
from kinema.gait.clip_names import HELD
from kinema.gait.kinds import Gait
from kinema.gait.make import Label
from kinema.gait.motions import MOTIONS
from kinema.gait.plan import GaitBody
from kinema.gait.recording import Recording
from kinema.gait.retarget import retarget
from kinema.motion.motion import Motion

ACTION_FRAMES = (10.0, 36.0)
"""Fewest and most frames of a window's rate that a whole action takes."""
TEMPO = (0.7, 1.4)
"""Range of tempo at which actions and states are played, drawn log-uniformly."""
BEFORE, AFTER = 4.0, 8.0
"""A window begins at most so many frames before an action, and shows at least so many of it."""
CRUISE = 1.5
"""Fastest travel that is given to what swims or flies in place [leg lengths per second]."""


@dataclass(frozen=True)
class Timing:
    """Which part of a recording a window shows, and what it says."""

    start: float
    """Time of frame 0 in the recording [s]."""
    tempo: float
    phase: float
    period: float
    """As the window plays it [s]."""


def draw_timing(
    recording: Recording, *, frames: int, fps: float, rng: np.random.Generator, cycle_frames: float, mirror: bool
) -> Timing:
    """A random part: any phase of a cycle, any part of an action, any time of a state."""
    length = (len(recording.motion) - 1) / recording.motion.fps
    if recording.repeats:
        start, tempo = float(rng.uniform(0, length)), recording.period * fps / cycle_frames
        return Timing(start, tempo, recording.phase(start, mirror=mirror), cycle_frames / fps)
    tempo = float(np.exp(rng.uniform(*np.log(TEMPO))))
    if recording.period <= 0:
        start = float(rng.uniform(0, length if recording.loops else max(length - tempo * frames / fps, 0.0)))
        if not recording.held:
            return Timing(start, tempo, 0.0, 0.0)
        # An action that has ended.
        return Timing(start, tempo, float(rng.uniform(1.0, 2.0)), float(rng.uniform(*ACTION_FRAMES)) / 2 / fps)
    lasts = float(np.clip(recording.period * fps / tempo, *ACTION_FRAMES))
    end = 1.5 if recording.name in HELD else 1.0
    phase = float(rng.uniform(-BEFORE / lasts, end - AFTER / lasts))
    begin = recording.begin_mirrored if mirror else recording.begin
    return Timing(begin + phase * recording.period, recording.period * fps / lasts, phase, lasts / fps)


def recorded_motion(
    recording: Recording, target: GaitBody | None = None, *, frames: int, fps: float, rng: np.random.Generator,
    cycle_frames: float = 9.0,
) -> tuple[Motion, Label]:  # fmt: skip
    """Play a random part of the recording, on its own body or on another with as many legs.

    Args:
        target: None plays all joints of its own body as they were recorded.
        cycle_frames: frames per cycle of what repeats.
    """
    mirror = target is not None and _may_mirror(recording, rng)
    timing = draw_timing(recording, frames=frames, fps=fps, rng=rng, cycle_frames=cycle_frames, mirror=mirror)
    size = {"frames": frames, "fps": fps, "start": timing.start, "tempo": timing.tempo}
    if target is None:
        target = recording.body
        motion = recording.play(**size)
    elif len(target.limbs.legs) != len(recording.body.limbs.legs):
        count = len(recording.body.limbs.legs)
        raise KinemaError(f"a recording on {count} legs does not fit a body with {len(target.limbs.legs)}")
    else:
        motion = retarget(recording, target, mirror=mirror, **size)
    speed = recording.speed / recording.body.leg * timing.tempo
    if speed == 0.0 and recording.name in TAIL_BEATS | WING_BEATS:
        speed = float(rng.uniform(0.0, CRUISE))
        ahead = torch.arange(frames) / fps * speed * target.leg
        motion = replace(motion, root_position=motion.root_position + ahead[:, None] * torch.tensor([0.0, 0.0, 1.0]))
    side = -recording.side if mirror else recording.side
    label = Label(
        recording.name, recording.repeats, timing.phase, timing.period, speed, target.limbs.body, side,
        recording.wording if not mirror else "", variant=recording.variant,
    )  # fmt: skip
    return motion, label


def _may_mirror(recording: Recording, rng: np.random.Generator) -> bool:
    """Half of all that has no side of its own; what leads with one side always with that of our own gait."""
    row = MOTIONS.get(recording.name)
    gait = row.gait if row else None
    if not isinstance(gait, Gait):
        return bool(rng.random() < 0.5)
    if gait.lame or gait.turn != 0.0:
        return False
    if gait.footfalls.symmetrical or recording.lead == 0.0:
        return bool(rng.random() < 0.5)
    ours = (gait.footfalls.four[1] - gait.footfalls.four[0] + 0.5) % 1.0 - 0.5
    return recording.lead * ours < 0
