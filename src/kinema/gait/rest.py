"""Lying, getting up and sleeping: bodies that come down to the ground."""

import numpy as np

from kinema.gait.actions import TAU, feet_of
from kinema.gait.arms import hang_arm
from kinema.gait.cycle import keyed
from kinema.gait.kinds import Style
from kinema.gait.plan import Curve, FootPlan, GaitBody, bend, sole_dip


def lie(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Go down and stay: upright bodies on their back, all others on the belly."""
    _lie(body, plan, keyed(since, (-0.9, 0.25), (0, 1)), keyed(since, (-0.25, 0.9), (0, 1)))


def get_up(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Rise from lying: lying down, backwards."""
    lie(body, plan, -since, style)


def sleep(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Lie, the head down, and breathe slowly."""
    breath, down = np.sin(TAU * since / 2.4), np.ones_like(since)
    _lie(body, plan, down, down)
    bend(plan, body.limbs.spine, pitch=0.05 * style.bob * breath)
    plan.shift[:, 1] += 0.012 * style.bob * body.leg * (breath + 1)
    if not body.upright:
        # As far down as the ground allows (`plan.solve` keeps the head out of it), and curled to a side.
        bend(plan, body.neck, pitch=0.7, yaw=0.5 * style.side)
        bend(plan, body.limbs.spine, yaw=0.3 * style.side)
        for j in body.limbs.tail:
            bend(plan, (j,), yaw=-0.9 * style.side / len(body.limbs.tail), pitch=-0.6 / len(body.limbs.tail))


def _lie(body: GaitBody, plan: FootPlan, down: Curve, back: Curve) -> None:
    """Come down by a share `down` and, upright bodies, lean back by a share `back` of the way."""
    moves = (down > 0) | (back > 0)
    if body.upright:
        trunk = [0, *body.limbs.spine]
        thick = float(np.clip(body.limbs.probes[trunk, 1, 2].max(), 0.08 * body.leg, 0.5 * body.leg))
        plan.shift[:, 1] -= (body.pivot[1] - thick) * down
        plan.shift[:, 2] -= 0.62 * body.leg * down + 0.28 * body.leg * back
        plan.tilt[:, 0] += 0.25 * down * (1 - back) - 0.5 * np.pi * back
        bend(plan, body.limbs.spine, pitch=0.6 * down * (1 - back))
        bend(plan, body.neck, pitch=0.3 * down * (1 - back))
        plan.foot_pitch -= 1.2 * back
        plan.toe_pitch -= 1.2 * back
        for i, leg in enumerate(body.limbs.legs):
            plan.contacts[i, :, 1] -= sole_dip(plan, i, leg)
            plan.stance[i, moves] = False
        for arm in body.limbs.arms:
            hang_arm(
                body, plan, arm, swing=0.3 * down * (1 - back), spread=0.25 * down, elbow=0.15 + 0.4 * down * (1 - back)
            )
        return
    hips = body.heads[[leg.joints[0] for leg in body.limbs.legs], 1]
    drop = min(0.96 * body.limbs.clearance, float(hips.min(initial=np.inf)) - 0.12 * body.leg)
    plan.shift[:, 1] -= drop * down
    plan.stance[:, moves] = False
    if len(body.limbs.legs) == 4 and body.chains is not None:
        step = body.leg * 0.06 * np.sin(np.pi * down) ** 2
        low = hips - drop
        for i in feet_of(body, rear=False):
            # Front legs stretched out ahead: as far as they reach from shoulders that are low.
            far = np.sqrt(max((0.9 * body.chains.reach[i]) ** 2 - low[i] ** 2, 0.0))
            plan.contacts[i, :, 2] += min(far, 0.8 * body.leg) * down
            plan.contacts[i, :, 1] += step
        for i in feet_of(body, rear=True):
            # Folded hind legs: ahead of the hips at least as far as they cannot fold further.
            leg, least = body.limbs.legs[i], body.chains.least[i]
            ankle = body.heads[leg.joints[min(leg.foot, len(leg.joints) - 1)], 2]
            near = 1.05 * least + body.heads[leg.joints[0], 2] - ankle
            plan.contacts[i, :, 2] += max(near, 0.25 * body.leg) * down
            plan.contacts[i, :, 0] += 0.10 * body.leg * body.limbs.legs[i].side * down
            plan.contacts[i, :, 1] += step
