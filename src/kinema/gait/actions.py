"""Actions: motions that happen once, around an event time, and idling."""

import numpy as np

from kinema.gait.arms import hang_arm
from kinema.gait.cycle import Style
from kinema.gait.plan import Body, Plan, bend

TAU = 2 * np.pi
ACTIONS = ("stand",)


def action_plan(
    body: Body, name: str, *, frames: int, fps: float, event: float, phase: float, style: Style
) -> tuple[Plan, float]:
    """Plan and crouch [leg lengths] of an action whose middle is at `event` [s]."""
    time = np.arange(frames) / fps
    plan = Plan.still(body, frames)
    _breathe(body, plan, time, phase, style)
    return plan, 0.3 * style.crouch + 0.01


def _breathe(body: Body, plan: Plan, time: np.ndarray, phase: float, style: Style) -> None:
    """Standing: feet fixed, the chest rises and falls, weight shifts a little, the tail hangs and sways."""
    breath = np.sin(TAU * (time / 2.6 + phase))
    slow = np.sin(TAU * (time / 4.1 + 0.3 + phase))
    plan.shift[:, 1] = 0.006 * style.bob * body.leg * breath
    plan.shift[:, 0] = 0.010 * style.sway * body.leg * slow
    neck = np.stack((0.03 * style.nod * breath + style.head, 0.05 * style.nod * slow, 0 * slow), -1)
    bend(plan, body.limbs.spine, np.stack((0.012 * breath, 0 * breath, 0.01 * slow), -1))
    bend(plan, (*body.limbs.neck, *((body.limbs.head,) if body.limbs.head is not None else ())), neck)
    for k, j in enumerate(body.limbs.tail):
        sweep = 0.12 * style.tail / len(body.limbs.tail)
        angle = sweep * np.sin(TAU * (time / 1.9 + phase) - 1.5 * k / len(body.limbs.tail))
        bend(plan, (j,), np.stack((0 * angle, angle, 0 * angle), -1))
    for arm in body.limbs.arms:
        hang_arm(body, plan, arm, swing=0.02 * breath, spread=0.02 * breath, elbow=0.15)
