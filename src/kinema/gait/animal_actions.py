"""Actions of animals: what tails, paws and jaws do. Feet stay where they are unless it says so."""

from functools import partial

import numpy as np

from kinema.gait.actions import TAU, dip, feed, feet_of, girdles, lean_away, sit_on_haunches, swing_feet
from kinema.gait.arms import key_arm
from kinema.gait.cycle import keyed
from kinema.gait.kinds import Style
from kinema.gait.plan import Curve, FootPlan, GaitBody, bend, room


def wag(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Swing the raised tail from side to side; the croup swings along, more so where there is little tail."""
    on, tail = keyed(since, (-1.7, -1.3, 1.3, 1.7), (0, 1, 1, 0)), body.limbs.tail
    # Short legs mean a small body, whose tail swings faster.
    rate = float(np.clip(1.5 * np.sqrt(0.5 / body.leg), 1.4, 2.6))
    beat = TAU * rate * since
    if tail:
        ends = body.heads[list(tail)] @ np.array([[0, 0], [1, 0], [0, 1]])
        rise, back = ends[-1] - ends[0] if len(tail) > 1 else (0.0, -1.0)
        lift = float(np.clip(0.4 - np.arctan2(rise, max(-back, 1e-6)), 0.0, 1.0))
        bend(plan, tail[:1], pitch=0.8 * lift * on)
    reach = 1.1 * min(style.tail, 1.6) * on
    for k, j in enumerate(tail):
        bend(plan, (j,), yaw=reach / len(tail) * np.sin(beat - 1.3 * k / len(tail)))
    hips = (0.10 if tail else 0.25) * on * np.sin(beat + 0.4)
    plan.tilt[:, 1] += hips
    plan.tilt[:, 2] += 0.3 * hips
    bend(plan, body.limbs.spine, yaw=-hips)


def dig(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Bow to the ground and tear it up with the front feet in turn; two legs scrape with one foot."""
    on, rate = keyed(since, (-1.4, -0.9, 1.0, 1.4), (0, 1, 1, 0)), 1.9
    many = len(body.limbs.legs) > 2
    for i in feet_of(body, rear=False, side=None if many else style.side):
        turn = TAU * (rate * since + (0.5 if body.limbs.legs[i].side < 0 else 0.0))
        # Back along the ground, forward through the air.
        ahead, up = body.leg * on * (0.12 + 0.27 * np.cos(turn)), body.leg * on * 0.2 * np.maximum(-np.sin(turn), 0)
        claw = on * (0.35 + 0.35 * np.sin(turn))
        swing_feet(plan, [i], on > 0, ahead, up, claw, claw)
    if not many:
        return lean_away(body, plan, on, style)
    nose = 0.3 * body.rock * on
    plan.tilt[:, 0] += nose + 0.04 * on * np.sin(2 * TAU * rate * since)
    plan.shift[:, 1] -= dip(body, 0.12) * on
    bend(plan, body.neck, pitch=on * (0.55 + 0.06 * np.sin(TAU * rate * since)))
    bend(plan, body.limbs.tail[:1], pitch=0.5 * on)


def scratch(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Scratch the neck with a hind foot, sitting; upright bodies scratch the head with a hand."""
    on, side = keyed(since, (-1.3, -0.8, 0.9, 1.4), (0, 1, 1, 0)), style.side
    beat = np.sin(TAU * 2.6 * since) * on
    arms = [arm for arm in body.limbs.arms if not arm.wing and arm.side == side]
    if body.upright and arms:
        up = on[:, None]
        head, hand = np.array([0.75, 0.25, 0.55]), np.array([-0.55, 0.8, 0.05])
        upper = (1 - up) * [0.16, -1.0, 0.05] + up * head + np.sin(np.pi * up) * [0.5, 0.0, 0.2]
        fore = (1 - up) * [0.1, -1.0, 0.25] + up * hand + 0.2 * beat[:, None] * [0.4, 0.3, 0.8]
        key_arm(body, plan, arms[0], upper, fore)
        return bend(plan, body.neck, pitch=0.25 * on, roll=0.2 * side * on)
    feet = feet_of(body, rear=len(body.limbs.legs) > 2, side=side)[-1:]
    fore, hind = girdles(body)
    if len(body.limbs.legs) == 4:
        sit_on_haunches(body, plan, on)
    span = max(fore - hind, 0.4 * body.leg)
    ahead, up = on * (0.75 * span) + 0.10 * body.leg * beat, body.leg * (0.62 * on + 0.10 * beat)
    swing_feet(plan, feet, on > 0, ahead, up, 0.5 * on, 0.7 * on)
    plan.contacts[feet, :, 0] += side * 0.12 * body.leg * on
    lean_away(body, plan, 0.6 * on, style)
    plan.tilt[:, 2] -= 0.10 * side * on
    bend(plan, body.limbs.spine, yaw=0.25 * side * on)
    bend(plan, body.neck, pitch=0.45 * on, yaw=0.55 * side * on, roll=-0.35 * side * on + 0.05 * beat)


def shake(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Roll the whole body to and fro like a wet dog, the head first and the tail last."""
    on, beat = keyed(since, (-0.9, -0.5, 0.5, 1.0), (0, 1, 1, 0)), TAU * 2.7 * since
    amount = on * min(style.sway, 1.5)
    roll = 0.20 * amount * np.sin(beat)
    plan.tilt[:, 2] += roll
    plan.shift[:, 1] -= dip(body, 0.05) * on
    bend(plan, body.limbs.spine, roll=0.28 * amount * np.sin(beat + 0.9), yaw=0.06 * amount * np.cos(beat))
    bend(plan, body.neck, pitch=0.35 * on, roll=0.7 * amount * np.sin(beat + 1.8), yaw=0.15 * amount * np.cos(beat))
    for k, j in enumerate(body.limbs.tail):
        bend(plan, (j,), yaw=0.5 * amount / len(body.limbs.tail) * np.sin(beat - 0.8 - k))


def howl(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Throw the head back and hold it there."""
    on = keyed(since, (-1.2, -0.6, 0.8, 1.3), (0, 1, 1, 0))
    voice = np.sin(TAU * 1.4 * since) * on
    bend(plan, body.neck, pitch=-1.15 * on + 0.05 * voice)
    bend(plan, body.limbs.spine, pitch=-0.12 * on)
    plan.tilt[:, 0] -= 0.07 * on
    _open_jaw(body, plan, on * (0.45 + 0.05 * voice))
    for arm in (arm for arm in body.limbs.arms if not arm.wing):
        hold = on[:, None]
        key_arm(body, plan, arm, [0.16, -1, 0.05] + hold * [0.3, 0.2, -0.3], [0.1, -1, 0.25] + hold * [0.2, 0.2, 0])


def roar(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Draw back, thrust the head forward with open jaws and shake it."""
    key = partial(keyed, since, (-0.9, -0.45, -0.1, 0.6, 1.1))
    out = key((0, 0, 1, 1, 0))
    tremble = np.sin(TAU * 3.1 * since) * out
    bend(plan, body.neck, pitch=key((0, 0.45, -0.5, -0.45, 0)), yaw=0.12 * tremble, roll=0.06 * tremble)
    bend(plan, body.limbs.spine, pitch=key((0, 0.25, -0.2, -0.15, 0)) * room(body))
    plan.shift[:, 2] += body.leg * key((0, -0.12, 0.16, 0.14, 0))
    plan.shift[:, 1] -= dip(body, 0.12) * key((0, 1, 0.2, 0.2, 0))
    _open_jaw(body, plan, 0.55 * out)
    for arm in (arm for arm in body.limbs.arms if not arm.wing):
        hold = out[:, None]
        key_arm(body, plan, arm, [0.16, -1, 0.05] + hold * [0.75, 0.5, -0.3], [0.1, -1, 0.25] + hold * [0.5, 1.0, 0.5])


def bite(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Crouch back, lunge and snap."""
    key = partial(keyed, since, (-0.65, -0.22, 0.0, 0.14, 0.65))
    swinging = (since > -0.22) & (since < 0.65)
    reach = body.leg * key((0, -0.22, 0.38, 0.34, 0))
    plan.shift[:, 2] += reach
    plan.shift[:, 1] -= dip(body, 0.14) * key((0, 1, 0.0, 0.3, 0))
    plan.tilt[:, 0] += body.rock * key((0, -0.08, 0.10, 0.12, 0))
    if len(body.limbs.legs) > 2:
        step = body.leg * keyed(since, (-0.22, 0.0, 0.14, 0.65), (0, 0.34, 0.34, 0))
        up = body.leg * keyed(since, (-0.22, -0.1, 0.0, 0.14, 0.4, 0.65), (0, 0.16, 0, 0, 0.08, 0))
        swing_feet(plan, feet_of(body, rear=False), swinging, step, up, 0 * up, 0 * up)
    bend(plan, body.neck, pitch=key((0, -0.35, 0.4, 0.45, 0)))
    _open_jaw(body, plan, key((0, 0.6, 0.5, 0.0, 0)))


def headbutt(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Lower the forehead, go back, and ram forward and up."""
    key = partial(keyed, since, (-0.8, -0.25, 0.0, 0.12, 0.7))
    plan.shift[:, 2] += body.leg * key((0, -0.25, 0.36, 0.30, 0))
    plan.shift[:, 1] -= dip(body, 0.1) * key((0, 1, 0.2, 0.0, 0))
    plan.tilt[:, 0] += key((0, 0.10, 0.06, -0.08, 0)) * (1.0 if body.upright else body.rock)
    bend(plan, body.limbs.spine, pitch=key((0, -0.15, 0.35, 0.2, 0)) if body.upright else key((0, 0.1, -0.1, 0, 0)))
    bend(plan, body.neck, pitch=key((0, 0.85, 0.7, -0.2, 0)))


def rear(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Rise on the hind legs, front feet pawing the air."""
    on = keyed(since, (-1.0, -0.35, 0.45, 1.05), (0, 1, 1, 0))
    fore, hind = girdles(body)
    angle = 0.85 * on * min(1.0, 0.6 + 0.5 * body.rock)
    # The hips stay over the hind feet: turn about them instead of about the pivot.
    lever = hind - body.pivot[2]
    plan.tilt[:, 0] -= angle
    plan.shift[:, 1] -= lever * np.sin(angle) + 0.08 * body.leg * on
    plan.shift[:, 2] += lever * (1 - np.cos(angle)) + 0.10 * body.leg * on
    for i in feet_of(body, rear=False):
        paw = np.sin(TAU * (1.7 * since + (0.5 if body.limbs.legs[i].side < 0 else 0.0))) * on
        ahead = (fore - hind) * (np.cos(angle) - 1) + body.leg * (0.38 * on + 0.16 * paw)
        up = (fore - hind) * np.sin(angle) + body.leg * (0.30 * on + 0.12 * paw)
        swing_feet(plan, [i], on > 0, ahead, up, 0.9 * on, 0.9 * on)
    bend(plan, body.neck, pitch=0.45 * angle)
    bend(plan, body.limbs.tail[:1], pitch=0.5 * angle)


def buck(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Throw up the hind legs twice, the head low and the back round."""
    times = (-1.0, -0.65, -0.45, -0.3, 0.0, 0.3, 0.45, 0.6, 1.0)
    key = partial(keyed, since, times)
    up = key((0, 0.1, 1, 0.4, 0, 0.1, 1, 0.4, 0))
    plan.tilt[:, 0] += body.rock * (0.42 * up - 0.12 * key((0, 1, 0, 0, 1, 1, 0, 0, 0)))
    plan.shift[:, 1] += 0.10 * body.leg * up
    bend(plan, body.limbs.spine, pitch=key((0, 0.4, -0.1, 0.1, 0.4, 0.4, -0.1, 0.1, 0)) * room(body))
    bend(plan, body.neck, pitch=key((0, 0.5, 0.6, 0.5, 0.4, 0.5, 0.6, 0.5, 0)))
    back, height = -0.5 * body.leg * up, 0.8 * body.leg * up
    swing_feet(plan, feet_of(body, rear=True), up > 0, back, height, 1.2 * up, 1.2 * up)


def claw(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Swipe across with a front paw or with a hand."""
    key, side = partial(keyed, since, (-0.6, -0.2, 0.0, 0.12, 0.6)), style.side
    arms = [arm for arm in body.limbs.arms if arm.side == side and not arm.wing]
    lean = side * key((0, 0.35, -0.4, -0.45, 0))
    bend(plan, body.limbs.spine, yaw=lean)
    bend(plan, body.neck, yaw=-0.6 * lean)
    if len(body.limbs.legs) <= 2 and arms:
        upper = np.stack((key((0.16, 0.9, 0.25, -0.3, 0.16)), key((-1, 0.4, 0.0, -0.5, -1)),
                          key((0.05, -0.3, 0.9, 0.9, 0.05))), -1)  # fmt: skip
        fore = np.stack((key((0.1, 0.5, -0.1, -0.8, 0.1)), key((-1, 0.9, 0.0, -0.6, -1)),
                         key((0.25, 0.2, 1, 0.6, 0.25))), -1)  # fmt: skip
        return key_arm(body, plan, arms[0], upper, fore)
    feet, off = feet_of(body, rear=False, side=side), (since > -0.6) & (since < 0.6)
    ahead, up = body.leg * key((0, 0.15, 0.6, 0.5, 0)), body.leg * key((0, 0.6, 0.55, 0.3, 0))
    swing_feet(plan, feet, off, ahead, up, key((0, 0.8, -0.2, 0.4, 0)), key((0, 0.8, -0.3, 0.5, 0)))
    plan.contacts[feet, :, 0] += side * body.leg * key((0, 0.18, -0.2, -0.32, 0))
    lean_away(body, plan, key((0, 1, 1, 1, 0)), style)


def drink(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """The mouth goes to the water and laps; upright bodies take the hand to the mouth and the head back."""
    down = keyed(since, (-1.4, -0.8, 1.0, 1.6), (0, 1, 1, 0))
    if body.upright:
        feed(body, plan, down, 0 * down, style)
        return bend(plan, body.neck, pitch=-0.65 * keyed(since, (-0.8, -0.3, 0.6, 1.0), (0, 1, 1, 0)))
    feed(body, plan, 0.96 * down, 0.35 * np.sin(TAU * 2.8 * since) * down, style)


def _open_jaw(body: GaitBody, plan: FootPlan, angle: Curve) -> None:
    """Open the lower jaw, where a joint is named so, by an angle [rad]."""
    bend(plan, tuple(j for j, name in enumerate(body.rig.names) if "jaw" in name.lower())[:1], pitch=angle)
