"""`make_motion`: any gait or action for any body, with the labels that it was made from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from kinema.gait.actions import action_plan
from kinema.gait.clip_names import STATES
from kinema.gait.cycle import cycle_plan
from kinema.gait.kinds import Action, Gait, MotionKind, Style, Wave, WingBeat
from kinema.gait.motions import find_motion
from kinema.gait.plan import FootPlan, GaitBody, solve
from kinema.gait.waves import wave_plan
from kinema.gait.wings import flight_plan
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

BEGUN = 0.05
"""Share of the largest change of the pose from which on an action has begun, and down to which it has not ended."""
LONGEST = 5.0
"""Time before and after its middle within which an action is looked for [s]."""
DENSE = 24.0
"""Frames per second at which it is looked for."""


@dataclass(frozen=True)
class Label:
    """What a clip shows, as conditions of a prior."""

    name: str
    """A motion of the vocabulary."""
    repeats: bool
    """A cycle (a gait, swimming, flapping), not an action that happens once or a state."""
    phase: float
    """At frame 0. Of a cycle: cycles since the front left foot touched down, the tail's tip crossed the middle to the
    left or the wings were highest, in [0, 1). Of an action: progress, 0 as it begins and 1 as it has ended; below 0 it
    has not begun. Frame f shows phase + f / (period * fps)."""
    period: float
    """Duration of a cycle or of the whole action [s]; 0: a state without progress (standing, sleeping)."""
    speed: float
    """Travel of the base path [leg lengths per second]."""
    body: str
    """`Limbs.body`"""
    side: int
    """+1 left, -1 right: the side that limps, waves, kicks or leads."""
    wording: str = ""
    """Verb phrase of this very clip where its caption has one ("lunges forward and bites"), without the noun."""
    direction: float = 0.0
    """Where the body goes, seen from where it faces [rad], + to the left: π backwards, ±π/2 sideways."""
    variant: str = ""
    """Which of the ways of doing it: the clip that it was recorded as; "" is the procedural one."""


def make_motion(
    rig: Rig, limbs: Limbs, kind: MotionKind | str, *, frames: int, fps: float, phase: float = 0.0,
    period: float | None = None, speed: float | None = None, style: Style | None = None,
    rng: np.random.Generator | None = None, body: GaitBody | None = None,
) -> tuple[Motion, Label]:  # fmt: skip
    """Make a motion with true stance: the contact point of a stance foot does not move in the world.

    Args:
        kind: a row, or the name of one in `motions.MOTIONS`.
        phase: at frame 0, see `Label`; of a state, the breath's.
        period: duration of a cycle or of the whole action [s]; by default as leg length and row suggest.
        speed: [leg lengths per second]; by default the usual stride in that period.
        style: variation of the motion; with `rng` drawn at random.
        body: `GaitBody.of(rig, limbs)`, to prepare it once for many motions.
    """
    kind = find_motion(kind) if isinstance(kind, str) else kind
    body = body or GaitBody.of(rig, limbs)
    style = style or (Style.random(rng) if rng is not None else Style())
    gait = kind.gait if can_do(limbs, kind) else None
    if gait is not None:
        usual = gait.period(body.leg)
        period = usual if period is None else period
        speed = body.stride * gait.speed(body.leg) * usual / period if speed is None else speed
        pace = {"frames": frames, "fps": fps, "phase": phase, "period": period, "speed": speed, "style": style}
        way = gait.heads(style)
        label = Label(kind.name, True, phase % 1.0, period, speed, limbs.body, style.side, direction=way)
        crouch = style.crouch + gait.crouch if isinstance(gait, Gait) else 0.0
        return solve(body, _plan(body, gait, pace), fps=fps, crouch=crouch), label
    time = np.arange(frames) / fps
    if kind.action is None or kind.name in STATES:
        plan = action_plan(body, kind.action, time=time, since=time, phase=phase, style=style)
        label = Label(kind.name, False, 0.0, 0.0, 0.0, limbs.body, style.side)
    else:
        begin, natural = action_times(body, kind.action, style)
        period = natural if period is None else period
        breath = float(rng.random()) if rng is not None else 0.0
        since = begin + natural * (phase + time / period)
        plan = action_plan(body, kind.action, time=time, since=since, phase=breath, style=style)
        label = Label(kind.name, False, phase, period, 0.0, limbs.body, style.side)
    return solve(body, plan, fps=fps, crouch=0.3 * style.crouch + 0.01), label


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


def action_times(body: GaitBody, action: Action, style: Style) -> tuple[float, float]:
    """When an action begins, from its middle on, and its duration [s]."""
    since = np.arange(-LONGEST, LONGEST, 1 / DENSE)
    plans = [action_plan(body, which, time=since, since=since, phase=0.0, style=style) for which in (action, None)]
    joints = sorted({joint for plan in plans for joint in plan.turns})
    acted, still = (_outline(body, plan, joints) for plan in plans)
    # Breathing goes on all the time and is no part of it.
    begin, end = action_span(acted - still)
    return float(since[begin]), float(since[end] - since[begin])


def action_span(place: Float[np.ndarray, "frames points 3"]) -> tuple[int, int]:
    """First and last frame of what happens: the pose has left the first one, and has not yet come to the last one."""
    away, ahead = (np.linalg.norm(place - end, axis=-1).mean(-1) for end in (place[:1], place[-1:]))
    if away.max() <= 1e-9 and ahead.max() <= 1e-9:
        return 0, len(place) - 1
    begin = int((away > BEGUN * away.max()).argmax()) - 1
    end = len(place) - int((ahead > BEGUN * ahead.max())[::-1].argmax())
    return max(begin, 0), max(min(end, len(place) - 1), begin + 1)


def _outline(body: GaitBody, plan: FootPlan, joints: list[int]) -> Float[np.ndarray, "frames points 3"]:
    """A plan as points that move about as far as the body does [leg lengths]: solving it would take much longer."""
    feet = plan.contacts.swapaxes(0, 1) / body.leg
    trunk = np.stack(((plan.path + plan.shift) / body.leg, plan.tilt), 1)
    at_rest = np.broadcast_to(np.eye(3), (len(plan.path), 3, 3))
    return np.concatenate((trunk, feet, *(0.5 * plan.turns.get(joint, at_rest) for joint in joints)), 1)
