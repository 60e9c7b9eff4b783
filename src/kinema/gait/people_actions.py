"""Actions of bodies with arms. Directions of arms are in the chest's frame, x away from the body."""

from functools import partial

import numpy as np

from kinema.gait.actions import TAU
from kinema.gait.arms import key_arm
from kinema.gait.cycle import keyed
from kinema.gait.kinds import Style
from kinema.gait.plan import Curve, FootPlan, GaitBody, bend
from kinema.rig.limbs import Arm

HANG = ((0.16, -1.0, 0.05), (0.10, -1.0, 0.25))
"""Upper arm and forearm of an arm that hangs."""
GUARD = ((0.25, -0.9, 0.25), (-0.25, 0.75, 0.7))
WOUND_UP = ((0.35, -0.7, -0.45), (-0.1, 0.35, 0.9))
Pose = tuple[tuple[float, float, float], tuple[float, float, float]]


def bow(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Bend forward from the hips and rise."""
    on = keyed(since, (-1.0, -0.3, 0.3, 1.0), (0, 1, 1, 0))
    two = len(body.limbs.legs) == 2
    plan.tilt[:, 0] += (0.35 if two else 0.3 * body.rock) * on
    plan.shift[:, 2] -= (0.15 if two else 0.1) * body.leg * on
    plan.shift[:, 1] -= (0.0 if two else 0.12 * body.leg) * on
    bend(plan, body.limbs.spine, pitch=(0.6 if two else 0.1) * on)
    bend(plan, body.neck, pitch=0.3 * on)


def cheer(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Throw both arms up and pump them, knees springing."""
    on = keyed(since, (-1.1, -0.7, 0.8, 1.2), (0, 1, 1, 0))
    beat = np.sin(TAU * 1.7 * since) * on
    plan.shift[:, 1] -= body.leg * on * 0.05 * (1 - np.sin(TAU * 1.7 * since))
    bend(plan, body.limbs.spine, pitch=-0.1 * on + 0.05 * beat)
    bend(plan, body.neck, pitch=-0.2 * on)
    for arm in _arms(body):
        raised = ((0.45, 0.9, 0.1), (0.15, 1.0, 0.15))
        _pose_arm(body, plan, arm, on, raised, pump=0.35 * np.stack((0.5 * beat, 0 * beat, beat), -1))


def clap(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Clap both hands before the chest."""
    on = keyed(since, (-1.2, -0.8, 0.9, 1.3), (0, 1, 1, 0))
    open_ = 0.5 + 0.5 * np.sin(TAU * 2.1 * since)
    bend(plan, body.neck, pitch=0.06 * on * np.sin(TAU * 1.05 * since))
    for arm in _arms(body):
        apart = on[:, None] * open_[:, None] * [0.75, 0.0, 0.0]
        _pose_arm(body, plan, arm, on, ((0.25, -0.8, 0.5), (-0.62, 0.35, 0.75)), pump=apart)


def point(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Stretch an arm out ahead and hold it."""
    on = keyed(since, (-0.8, -0.35, 0.6, 1.1), (0, 1, 1, 0))
    far = 0.25 * style.side * on
    bend(plan, body.limbs.spine, yaw=-0.6 * far)
    bend(plan, body.neck, yaw=far)
    for arm in _arms(body):
        if arm.side == style.side:
            _pose_arm(body, plan, arm, on, ((0.12, 0.05, 1.0), (0.10, 0.08, 1.0)))


def punch(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Strike straight ahead with a fist from a guard, the trunk turning into it."""
    key = partial(keyed, since, (-0.85, -0.5, -0.18, 0.0, 0.12, 0.4, 0.8))
    guard = key((0, 1, 1, 1, 1, 1, 0))
    turn = style.side * key((0, 0, 0.3, -0.55, -0.5, 0, 0))
    plan.shift[:, 1] -= 0.05 * body.leg * guard
    plan.shift[:, 2] += body.leg * key((0, 0, -0.06, 0.12, 0.1, 0, 0))
    plan.tilt[:, 1] += 0.3 * turn
    bend(plan, body.limbs.spine, yaw=0.7 * turn, pitch=0.1 * guard)
    bend(plan, body.neck, yaw=-0.7 * turn)
    out, wind = key((0, 0, 0, 1, 0.85, 0, 0))[:, None], key((0, 0, 1, 0, 0, 0, 0))[:, None]
    for arm in _arms(body):
        upper, fore = (
            _mixed(hang, on_guard, guard) + wind * np.subtract(back, on_guard)
            for hang, on_guard, back in zip(HANG, GUARD, WOUND_UP if arm.side == style.side else GUARD)
        )
        strike = out if arm.side == style.side else 0 * out
        upper = (1 - strike) * upper + strike * [-0.05, 0.0, 1.0]
        key_arm(body, plan, arm, upper, (1 - strike) * fore + strike * [-0.1, 0.02, 1.0])


def _arms(body: GaitBody) -> list[Arm]:
    return [arm for arm in body.limbs.arms if not arm.wing]


def _mixed(a: tuple[float, ...], b: tuple[float, ...], share: Curve) -> np.ndarray:
    return np.asarray(a) + share[:, None] * np.subtract(b, a)


def _pose_arm(body: GaitBody, plan: FootPlan, arm: Arm, on: Curve, pose: Pose, pump: np.ndarray | float = 0.0) -> None:
    """Bring a hanging arm into a pose as far as `on` says, through the side and the front; `pump` moves the forearm."""
    # The straight way from down to up leads through zero, where there is no direction.
    around = np.sin(np.pi * on)[:, None] * [0.5, 0.0, 0.35]
    upper, fore = (_mixed(a, b, on) + around for a, b in zip(HANG, pose))
    key_arm(body, plan, arm, upper, fore + pump)
