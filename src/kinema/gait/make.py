"""`make_motion`: any gait or action for any body, with the labels that it was made from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.gait.actions import action_plan
from kinema.gait.cycle import cycle_plan
from kinema.gait.kinds import Gait, MotionKind, Style, Wave, WingBeat
from kinema.gait.motions import find_motion
from kinema.gait.plan import FootPlan, GaitBody, solve
from kinema.gait.waves import wave_plan
from kinema.gait.wings import flight_plan
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs


@dataclass(frozen=True)
class Label:
    """What a clip shows, as conditions of a prior."""

    name: str
    """`MotionKind.name`"""
    phase: float
    """Cycles since the reference leg (front left) touched down at frame 0, in [0, 1); 0 for actions.

    Of a wave: since the tip of the tail passed the middle to the left; of a wing beat: since the wings were highest.
    """
    period: float
    """Duration of a cycle [s]; 0 for actions."""
    speed: float
    """[leg lengths per second]"""
    event: float
    """Time of the middle of an action (apex of the jump, strike of the kick) [s]; 0 for gaits."""
    body: str
    """`Limbs.body`"""
    side: int
    """+1 left, -1 right: the side that limps, waves, kicks or leads."""
    direction: float = 0.0
    """Where the body goes, seen from where it faces [rad], + to the left: π backwards, ±π/2 sideways."""


def make_motion(
    rig: Rig, limbs: Limbs, kind: MotionKind | str, *, frames: int, fps: float, phase: float = 0.0,
    period: float | None = None, speed: float | None = None, event: float | None = None, style: Style | None = None,
    rng: np.random.Generator | None = None, body: GaitBody | None = None,
) -> tuple[Motion, Label]:  # fmt: skip
    """Make a motion with true stance: the contact point of a stance foot does not move in the world.

    Args:
        kind: a row, or the name of one in `motions.MOTIONS`.
        phase: cycles since the reference leg touched down, at frame 0.
        period: duration of a cycle [s]; by default as leg length and gait suggest.
        speed: [leg lengths per second]; by default the usual stride in that period.
        event: time of the middle of an action [s]; by default in the middle of the clip.
        style: variation of the motion; with `rng` drawn at random.
        body: `GaitBody.of(rig, limbs)`, to prepare it once for many motions.
    """
    kind = find_motion(kind) if isinstance(kind, str) else kind
    body = body or GaitBody.of(rig, limbs)
    style = style or (Style.random(rng) if rng is not None else Style())
    gait = kind.gait if can_do(limbs, kind) else None
    if gait is None:
        event = (frames - 1) / fps / 2 if event is None else event
        plan = action_plan(body, kind.action, frames=frames, fps=fps, event=event, phase=phase, style=style)
        label = Label(kind.name, 0.0, 0.0, 0.0, float(event), limbs.body, style.side)
        return solve(body, plan, fps=fps, crouch=0.3 * style.crouch + 0.01), label
    usual = gait.period(body.leg)
    period = usual if period is None else period
    speed = body.stride * gait.speed(body.leg) * usual / period if speed is None else speed
    pace = {"frames": frames, "fps": fps, "phase": phase, "period": period, "speed": speed, "style": style}
    label = Label(kind.name, phase % 1.0, period, speed, 0.0, limbs.body, style.side, gait.heads(style))
    crouch = style.crouch + gait.crouch if isinstance(gait, Gait) else 0.0
    return solve(body, _plan(body, gait, pace), fps=fps, crouch=crouch), label


def _plan(body: GaitBody, gait: Gait | Wave | WingBeat, pace: dict[str, Any]) -> FootPlan:
    match gait:
        case Gait():
            return cycle_plan(body, gait, **pace)
        case Wave():
            return wave_plan(body, gait, **pace)
        case WingBeat():
            return flight_plan(body, gait, **pace)


def can_do(limbs: Limbs, kind: MotionKind) -> bool:
    """The body has the limbs that a motion needs: legs to step, wings to beat, none to swim or slither."""
    match kind.gait:
        case Gait():
            return bool(limbs.legs)
        case Wave():
            return not limbs.legs
        case WingBeat():
            return any(arm.wing for arm in limbs.arms)
    return True
