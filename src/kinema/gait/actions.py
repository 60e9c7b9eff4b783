"""Actions: motions that happen once, around an event time, and standing. Feet stay where they are unless it says so."""

from functools import partial

import numpy as np

from kinema.gait.arms import hang_arm, point_arm
from kinema.gait.cycle import keyed
from kinema.gait.kinds import Action, Style
from kinema.gait.plan import Curve, FootPlan, GaitBody, bend, descendants
from kinema.motion.motion import GRAVITY

TAU = 2 * np.pi


def action_plan(
    body: GaitBody, action: Action | None, *, time: Curve, since: Curve, phase: float, style: Style
) -> FootPlan:
    """Plan of a standing body that breathes with `time` [s] and of an action, `since` [s] after its middle.

    The middle is: the apex of the jump, the head passing the front while looking, the strike of the kick, halfway down
    to the seat, and the middle of the time that the hand waves or the mouth is at the food.
    """
    plan, tail = FootPlan.still(body, len(time)), body.limbs.tail
    # Standing: the chest rises and falls, weight shifts a little, the tail hangs and sways.
    breath = np.sin(TAU * (time / 2.6 + phase))
    slow = np.sin(TAU * (time / 4.1 + 0.3 + phase))
    plan.shift[:, 1] = 0.006 * style.bob * body.leg * breath
    plan.shift[:, 0] = 0.010 * style.sway * body.leg * slow
    bend(plan, body.limbs.spine, pitch=0.012 * breath, roll=0.01 * slow)
    bend(plan, body.neck, pitch=0.03 * style.nod * breath + style.head, yaw=0.05 * style.nod * slow)
    for k, j in enumerate(tail):
        bend(plan, (j,), yaw=0.12 * style.tail / len(tail) * np.sin(TAU * (time / 1.9 + phase) - 1.5 * k / len(tail)))
    for arm in body.limbs.arms:
        hang_arm(body, plan, arm, swing=0.02 * breath, spread=0.02 * breath, elbow=0.15)
    if action is not None:
        action(body, plan, since, style)
    return plan


def jump(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Crouch, leave the ground on a parabola, land and rise; a little forward."""
    height = 0.55 * min(style.lift, 1.4) * body.leg
    # Half the time in the air: h = g t² / 2, for tiny and huge bodies kept within what a video shows.
    half = float(np.clip(np.sqrt(2 * height / GRAVITY), 0.2, 0.4))
    air = np.abs(since) < half
    w = np.clip(since / half, -1, 1)
    rise = height * (1 - w * w)
    deep = -min(0.24 * body.leg, 0.5 * body.limbs.clearance)
    ready = keyed(since, (-half - 0.55, -half - 0.2, -half, half, half + 0.16, half + 0.55), (0, deep, 0, 0, deep, 0))
    plan.shift[:, 1] += np.where(air, rise, ready)
    forward = 0.6 * (style.lift - 0.6) * body.leg
    plan.path[:, 2] = keyed(since, (-half - 0.1, half + 0.1), (0.0, forward))
    tuck = 0.25 * body.leg * (1 - w * w) ** 2
    plan.contacts[..., 2] += keyed(since, (-half, half), (0.0, forward))
    plan.contacts[..., 1] += np.where(air, rise * 0.9 + tuck, 0.0)
    plan.stance[:, air] = False
    plan.foot_pitch += keyed(since, (-half - 0.12, -half, half * 0.5, half), (0, 0.5, 0.2, 0)) * (since < half)
    plan.toe_pitch += np.where(air, 0.35 * (1 - w * w), 0.0)
    nose = -0.22 * body.rock if len(body.limbs.legs) == 4 else 0.12
    plan.tilt[:, 0] += keyed(since, (-half - 0.3, -half, half, half + 0.3), (0, nose, 0.16 * body.rock, 0))
    bend(plan, body.limbs.spine, pitch=keyed(since, (-half - 0.5, -half - 0.2, 0, half + 0.2), (0, 0.25, -0.05, 0.2)))
    for arm in body.limbs.arms:
        raise_ = keyed(since, (-half - 0.5, -half - 0.2, -half * 0.3, half + 0.2, half + 0.6), (0, 0.7, -1.6, 0.2, 0))
        spread = 0.3 * np.maximum(1 - w * w, 0) + (1.2 * np.maximum(1 - w * w, 0) if arm.wing else 0.0)
        hang_arm(body, plan, arm, swing=raise_ * (0.0 if arm.wing else 1.0), spread=spread, elbow=0.3)


def sit(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Go down and stay: four legs sit on the haunches, two squat, many lie low."""
    down = keyed(since, (-0.5, 0.5), (0.0, 1.0))
    if len(body.limbs.legs) == 4:
        sit_on_haunches(body, plan, down)
    elif len(body.limbs.legs) == 2:
        plan.shift[:, 1] -= 0.5 * body.leg * down
        plan.shift[:, 2] -= 0.3 * body.leg * down
        bend(plan, body.limbs.spine, pitch=0.35 * down)
        bend(plan, body.neck, pitch=-0.3 * down)
    else:
        plan.shift[:, 1] -= 0.8 * body.limbs.clearance * down


def sit_on_haunches(body: GaitBody, plan: FootPlan, down: Curve) -> None:
    """Bring the croup of four legs down by a share of its way to the ground."""
    fore, hind = girdles(body)
    # Nose up by the angle that brings the croup down as far as its flesh allows; the shoulders keep their height.
    sine = 0.8 * min(0.5 * body.leg, body.limbs.clearance) / max(fore - hind, 1e-6)
    angle = float(np.arcsin(np.clip(sine, 0.05, 0.75)))
    plan.tilt[:, 0] -= angle * down
    plan.shift[:, 1] -= (fore - body.pivot[2]) * np.sin(angle * down)
    plan.shift[:, 2] += 0.35 * (fore - hind) * (1 - np.cos(angle * down))
    bend(plan, body.neck, pitch=0.7 * angle * down)
    for i in feet_of(body, rear=True):
        plan.contacts[i, :, 2] += 0.12 * body.leg * down
        plan.contacts[i, :, 1] += 0.05 * body.leg * np.sin(np.pi * down) ** 2
        plan.stance[i, (down > 0) & (down < 1)] = False
    bend(plan, body.limbs.tail[:1], pitch=1.1 * angle * down)


def look(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Turn the head to one side, then to the other, and back."""
    far = 0.9 * style.side * min(style.nod, 1.4)
    yaw = keyed(since, (-1.2, -0.7, -0.4, 0.4, 0.7, 1.2), (0, far, far, -far, -far, 0))
    pitch = keyed(since, (-1.2, -0.6, 0, 0.6, 1.2), (0, -0.15, 0.05, -0.15, 0))
    bend(plan, body.neck, pitch=pitch, yaw=yaw)
    bend(plan, body.limbs.spine, yaw=0.2 * yaw)


def wave(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Wave with an arm, a wing or, standing on the others, a front leg."""
    up = keyed(since, (-1.0, -0.6, 0.6, 1.0), (0, 1, 1, 0))
    beat = np.sin(TAU * 2.2 * since)
    arms = [arm for arm in body.limbs.arms if arm.side == style.side]
    if len(body.limbs.legs) <= 2 and arms:
        arm, s = arms[0], float(style.side)
        if arm.wing:
            return hang_arm(body, plan, arm, swing=0 * up, spread=up * (1.4 + 0.4 * beat), elbow=0.0)
        hanging, raised = np.array([0.16 * s, -1.0, 0.05]), np.array([0.85 * s, 0.35, 0.25])
        # Through the side: from straight down to straight up the shortest rotation is undefined.
        across = np.array([s, 0.0, 0.2]) * np.sin(np.pi * up)[:, None]
        upper = (1 - up)[:, None] * hanging + up[:, None] * raised + 0.6 * across
        fore = (1 - up)[:, None] * np.array([0.1 * s, -1.0, 0.2]) + 0.6 * across
        fore = fore + up[:, None] * np.stack((s * (0.05 + 0.55 * beat), 0 * up + 1.0, 0 * up + 0.2), -1)
        return point_arm(body, plan, arm, upper, fore)
    feet = feet_of(body, rear=False, side=style.side)
    forward, height = body.leg * up * (0.45 + 0.10 * beat), body.leg * up * (0.55 + 0.15 * beat)
    swing_feet(plan, feet, up > 0, forward, height, 0.4 * up, 0.4 * up)
    lean_away(body, plan, up, style)


def kick(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """Two legs kick forward with one foot; four strike back with both hind feet."""
    times = (-0.55, -0.2, 0.0, 0.12, 0.5)
    swinging, key = (since > times[0]) & (since < times[-1]), partial(keyed, since, times)
    if len(body.limbs.legs) == 4:
        plan.tilt[:, 0] += body.rock * key((0, 0.1, 0.38, 0.36, 0))
        bend(plan, body.neck, pitch=key((0, 0.2, 0.45, 0.45, 0)))
        feet = feet_of(body, rear=True)
        forward, height = body.leg * key((0, 0.15, -0.85, -0.8, 0)), body.leg * key((0, 0.3, 0.85, 0.8, 0))
        pitch = key((0, 0.5, 1.5, 1.4, 0))
        return swing_feet(plan, feet, swinging, forward, height, pitch, pitch)
    feet = feet_of(body, rear=False, side=style.side)
    forward, height = body.leg * key((0, -0.35, 0.85, 0.8, 0)), body.leg * key((0, 0.25, 0.6, 0.55, 0))
    swing_feet(plan, feet, swinging, forward, height, key((0, 0.6, -0.4, -0.4, 0)), key((0, 0.5, -0.4, -0.4, 0)))
    plan.tilt[:, 0] += key((0, 0.08, -0.22, -0.2, 0))
    lean_away(body, plan, key((0, 1, 1, 1, 0)), style)
    for arm in body.limbs.arms:
        if not arm.wing:
            swing = -float(np.sign(arm.side * style.side)) * key((0, 0.5, -0.6, -0.6, 0))
            hang_arm(body, plan, arm, swing=swing, spread=key((0, 0.3, 0.5, 0.5, 0)), elbow=0.6)


def eat(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    """The mouth goes to the ground; a body with arms that stands upright takes the hand to the mouth."""
    down = keyed(since, (-1.3, -0.7, 0.9, 1.5), (0, 1, 1, 0))
    feed(body, plan, down, np.sin(TAU * 1.6 * since) * down, style)


def feed(body: GaitBody, plan: FootPlan, down: Curve, chew: Curve, style: Style) -> None:
    """Bring mouth and food together as far as `down` says (0 to 1) and move the jaws or the hand by `chew`."""
    if body.limbs.head is None:
        return
    arms = [arm for arm in body.limbs.arms if not arm.wing]
    if body.upright and arms:
        arm = min(arms, key=lambda a: a.side != style.side)
        s = float(arm.side)
        hold = np.clip(down * (0.75 + 0.25 * chew), 0, 1)[:, None]
        upper = (1 - hold) * np.array([0.16 * s, -1.0, 0.05]) + hold * np.array([0.2 * s, -0.75, 0.65])
        fore = (1 - hold) * np.array([0.1 * s, -1.0, 0.25]) + hold * np.array([-0.45 * s, 0.75, 0.55])
        point_arm(body, plan, arm, upper, fore)
        return bend(plan, body.neck, pitch=0.2 * down + 0.08 * chew)
    neck, base, head = body.limbs.neck or body.neck, body.heads[body.neck[0]], body.heads[body.limbs.head]
    follows = 1.0 if neck == body.neck else 0.4
    flesh = descendants(body.rig.parents, body.limbs.head)
    away = (body.heads[flesh][:, None] + body.limbs.probes[flesh] - head).reshape(-1, 3)
    # Turn the neck until the lowest point of head, beak or trunk is at the ground; a short one bows the forehand too.
    angles = np.linspace(0.0, 1.9, 77)
    low = base[1] + np.cos(angles) * (head - base)[1] - np.sin(angles) * (head - base)[2]
    nose = follows * angles
    low += (np.outer(np.cos(nose), away[:, 1]) - np.outer(np.sin(nose), away[:, 2])).min(-1)
    there = low < 0.05 * body.leg
    angle = float(angles[int(there.argmax())] if there.any() else angles[int(low.argmin())])
    # The bend is shared by n joints, so the whole turns by (n + 1) / 2n of it.
    pitch = min(angle * 2 * len(neck) / (len(neck) + 1), 2.6)
    missing = 0.0 if there.any() else float(low.min())
    bow = float(np.clip(np.arctan2(missing, max(base[2] - body.pivot[2], 0.2 * body.leg)), 0.0, 0.32))
    plan.tilt[:, 0] += bow * down
    bend(plan, neck, pitch=pitch * down + 0.10 * style.nod * chew)
    if follows < 1.0:
        # The head turns less than the neck: its nose points down, not back to the legs.
        bend(plan, (body.limbs.head,), pitch=(follows * angle - pitch) * down)
    plan.shift[:, 1] -= (0.25 if len(body.limbs.legs) == 2 else 0.05) * body.leg * down


def dip(body: GaitBody, depth: float) -> float:
    """How far the trunk comes down when it should by a depth [leg lengths] and must not touch the ground [m]."""
    return min(depth * body.leg, 0.4 * body.limbs.clearance)


def girdles(body: GaitBody) -> tuple[float, float]:
    """z of shoulders and hips, the tops of the first legs and of the others [m]."""
    tops = [(leg.rank > 0, body.heads[leg.joints[0], 2]) for leg in body.limbs.legs]
    fore, hind = (np.mean([z for rear, z in tops if rear == behind] or [0.0]) for behind in (False, True))
    return float(fore), float(hind)


def feet_of(body: GaitBody, *, rear: bool, side: int | None = None) -> list[int]:
    """Indices of the legs of the first pair or of those behind it, of one side or of both."""
    legs = enumerate(body.limbs.legs)
    return [i for i, leg in legs if (leg.rank > 0) == rear and side in (None, leg.side)]


def swing_feet(
    plan: FootPlan, feet: list[int], off: np.ndarray, ahead: Curve, up: Curve, foot: Curve, toe: Curve
) -> None:
    """Move feet ahead and up [m], pitch foot and toes [rad], and end their stance while they are `off` the ground."""
    plan.contacts[feet, :, 2] += ahead
    plan.contacts[feet, :, 1] += up
    plan.foot_pitch[feet] += foot
    plan.toe_pitch[feet] += toe
    plan.stance[feet] &= ~off


def lean_away(body: GaitBody, plan: FootPlan, amount: np.ndarray, style: Style) -> None:
    """Shift the weight over the legs that stay."""
    aside = np.abs(body.home[:, 0]).sum() / max(len(body.home), 1)
    plan.shift[:, 0] -= 0.45 * style.side * float(aside) * amount
