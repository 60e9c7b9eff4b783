"""`make_motion`: any gait or action for any body, with the labels that it was made from."""

from dataclasses import dataclass

import numpy as np

from kinema.errors import KinemaError
from kinema.gait.actions import ACTIONS, action_plan
from kinema.gait.cycle import Style, cycle_plan
from kinema.gait.pattern import GAIT_NAMES, PERIODIC, default_period, default_speed, gait
from kinema.gait.plan import Body, solve
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs


@dataclass(frozen=True)
class Label:
    """What a clip shows, as conditions of a prior."""

    name: str
    phase: float
    """Cycles since the reference leg (front left) touched down at frame 0, in [0, 1); 0 for actions."""
    period: float
    """Of a cycle [s]; 0 for actions."""
    speed: float
    """[leg lengths per second]"""
    event: float
    """When an action is in its middle (apex of the jump, strike of the kick) [s]; 0 for gaits."""
    body: str
    """Limbs.body"""
    side: int
    """+1 left, -1 right: the side that limps, waves, kicks or leads."""


def make_motion(
    rig: Rig,
    limbs: Limbs,
    name: str,
    *,
    frames: int,
    fps: float,
    phase: float = 0.0,
    period: float | None = None,
    speed: float | None = None,
    event: float | None = None,
    style: Style | None = None,
    rng: np.random.Generator | None = None,
    body: Body | None = None,
) -> tuple[Motion, Label]:
    """A motion with true stance: the contact point of a stance foot does not move in the world.

    Args:
        phase: cycles since the reference leg touched down, at frame 0.
        period: of a cycle [s]; by default as leg length and gait suggest.
        speed: [leg lengths per second]; by default the usual stride in that period.
        event: when an action is in its middle [s]; by default in the middle of the clip.
        style: how it is done; with `rng` drawn at random.
        body: `Body.of(rig, limbs)`, to prepare it once for many motions.
    """
    if name not in GAIT_NAMES:
        raise KinemaError(f"motion {name!r}: not one of {', '.join(GAIT_NAMES)}")
    body = body or Body.of(rig, limbs)
    style = style or (Style.random(rng) if rng is not None else Style())
    if name in ACTIONS or not limbs.legs:
        event = (frames - 1) / fps / 2 if event is None else event
        plan, crouch = action_plan(body, name, frames=frames, fps=fps, event=event, phase=phase, style=style)
        label = Label(name, 0.0, 0.0, 0.0, float(event), limbs.body, style.side)
        return solve(body, plan, fps=fps, crouch=crouch), label
    usual = default_period(name, body.leg)
    period = usual if period is None else period
    speed = body.stride * default_speed(name, body.leg) * usual / period if speed is None else speed
    plan = cycle_plan(body, gait(name), frames=frames, fps=fps, phase=phase, period=period, speed=speed, style=style)
    crouch = style.crouch + {"sneak": 0.14, "run": 0.02, "gallop": 0.03}.get(name, 0.0)
    label = Label(name, phase % 1.0, period, speed, 0.0, limbs.body, style.side)
    return solve(body, plan, fps=fps, crouch=crouch), label


def is_periodic(name: str) -> bool:
    return name in PERIODIC
