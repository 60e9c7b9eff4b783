"""Actions of bodies without limbs: what a long chain of joints can do."""

import numpy as np

from kinema.gait.actions import TAU
from kinema.gait.cycle import keyed
from kinema.gait.kinds import Style
from kinema.gait.plan import FootPlan, GaitBody, bend


def rise(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Lift the front of the body off the ground, the head level, and sway."""
    on = keyed(since, (-1.1, -0.4, 0.7, 1.3), (0, 1, 1, 0))
    front = (*body.limbs.spine, *body.neck)
    bow, top = front[len(front) // 3 : len(front) // 3 + 2], front[-2:]
    bend(plan, bow, pitch=-1.25 * on)
    bend(plan, top, pitch=1.15 * on, yaw=0.2 * on * np.sin(TAU * 0.8 * since))


def coil(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Wind the body into a spiral, tighter towards the tail."""
    on, side = keyed(since, (-1.0, 0.8), (0, 1)), float(style.side)
    front, tail = (*body.limbs.spine, *body.neck), body.limbs.tail
    bend(plan, front, yaw=side * 0.7 * TAU * on)
    # Curvature keeps its sense along the body: bones that point back turn the other way.
    share = np.linspace(0.8, 1.5, len(tail)) / max(len(tail), 1)
    for j, part in zip(tail, share):
        bend(plan, (j,), yaw=-side * 1.0 * TAU * part * on)
