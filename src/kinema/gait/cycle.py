"""Gaits: plans whose feet follow a footfall pattern along a path."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float

from kinema.gait.arms import swing_arms
from kinema.gait.kinds import Gait, Style, by_legs
from kinema.gait.plan import Curve, FootPlan, GaitBody, Path, bend, sole_dip
from kinema.rig.limbs import Leg

TAU = 2 * np.pi
Road = Callable[[np.ndarray], tuple[Path, Curve]]
Keys = tuple[float | int, ...]
LONGEST_STANCE = 1.15
"""Longest path of a stance foot under the body [leg lengths]; beyond it the stance gets shorter."""


def travel(time: Curve, *, speed: float, turn: float) -> tuple[Path, Curve]:
    """Position [m] and heading [rad] on a line or, with a yaw rate [rad/s], on a circle through the origin."""
    heading = turn * time
    # sin(h)/h and (1 - cos h)/h, which are 1 and 0 on a straight line.
    along = time * np.sinc(heading / np.pi)
    across = time * np.sin(heading / 2) * np.sinc(heading / TAU)
    return speed * np.stack((across, np.zeros_like(time), along), -1), heading


def cycle_plan(
    body: GaitBody, gait: Gait, *, frames: int, fps: float, phase: float, period: float, speed: float, style: Style
) -> FootPlan:
    """Plan of a gait: `phase` [cycles] at frame 0, `period` [s], `speed` [leg lengths per second]."""
    time, legs, plan = np.arange(frames) / fps, body.limbs.legs, FootPlan.still(body, frames)
    cycles = time / period + phase
    path = partial(travel, speed=speed * body.leg, turn=gait.turn / period)
    plan.path, plan.heading = path(time)
    duty = min(gait.duty * style.duty, LONGEST_STANCE * body.stride / max(speed * period, 1e-9))
    phases = gait.footfalls.touchdowns(legs)
    for i, leg in enumerate(legs):
        late = style.lag if leg.rank > 0 and not gait.footfalls.together else 0.0
        start = phase - phases[i] - late
        _step(body, plan, i, leg, gait, cycles - phases[i] - late, period, start, duty, path, style)
    _trunk(body, plan, gait, cycles, duty, phases, style)
    _follow(body, plan, gait, cycles, duty, style)
    swing_arms(body, plan, gait, cycles - duty / 2, amount=style.arms)
    return plan


def _step(
    body: GaitBody, plan: FootPlan, i: int, leg: Leg, gait: Gait, cycles: np.ndarray, period: float, start: float,
    duty: float, path: Road, style: Style,
) -> None:  # fmt: skip
    """Plan one leg: footholds where the body will be in mid-stance, a smooth arc from each to the next."""
    spared = gait.lame and leg.rank == 0 and leg.side == style.side
    duty = 0.62 * duty if spared else duty
    index = np.floor(cycles)
    u = cycles - index
    swinging = u >= duty
    w = np.clip((u - duty) / (1 - duty), 0.0, 1.0)
    here, yaw = _foothold(body, i, (index + duty / 2 - start) * period, path, style)
    after, yaw_after = _foothold(body, i, (index + 1 + duty / 2 - start) * period, path, style)
    s = w**3 * (10 - 15 * w + 6 * w * w)
    contact = here + s[:, None] * (after - here)
    height = gait.lift * style.lift * body.leg * (0.6 if spared else 1.0)
    contact[:, 1] += height * np.sin(np.pi * w**0.8) ** 2
    plan.contacts[i], plan.stance[i] = contact, ~swinging
    plan.foot_yaw[i] = yaw + s * (yaw_after - yaw)
    # The heel comes up at the end of stance, the toes point down early in swing and up before touchdown.
    heel = style.heel * by_legs(gait.heel, len(body.limbs.legs))
    more = heel + (0.5 if gait.froude > 0.4 else 0.25)
    x = np.where(swinging, 1 + w, u / duty)
    plan.foot_pitch[i] = keyed(x, (0, 0.55, 1, 1.25, 1.8, 2), (0, 0, heel, more, -0.12, 0))
    plan.toe_pitch[i] = keyed(x, (0, 1, 1.3, 1.8, 2), (0, 0, 0.8 * more, -0.1, 0))
    # Toes up means heel down: lift the contact point so that no end of the sole dips below it, nor toes below the arc.
    if leg.foot < len(leg.joints):
        plan.contacts[i, :, 1] -= np.where(swinging, sole_dip(plan, i, leg), 0.0)


def _foothold(body: GaitBody, i: int, time: Curve, path: Road, style: Style) -> tuple[Path, Curve]:
    """Position and yaw of the foot in a stance that is centred at that time."""
    position, heading = path(time)
    ground = body.pivot * [1, 0, 1]
    arm = (body.home[i] - ground) * [style.width, 1, 1]
    cosine, sine = np.cos(heading), np.sin(heading)
    turned = np.stack((cosine * arm[0] + sine * arm[2], 0 * cosine, cosine * arm[2] - sine * arm[0]), -1)
    return ground + position + turned, heading


def keyed(x: Float[np.ndarray, "*n"], times: Keys, values: Keys) -> Float[np.ndarray, "*n"]:
    """Ease from key to key; flat at every key."""
    t, v = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    k = np.clip(np.searchsorted(t, x, side="right") - 1, 0, len(t) - 2)
    w = np.clip((x - t[k]) / (t[k + 1] - t[k]), 0.0, 1.0)
    return v[k] + (3 - 2 * w) * w * w * (v[k + 1] - v[k])


def _trunk(
    body: GaitBody, plan: FootPlan, gait: Gait, cycles: np.ndarray, duty: float, phases: tuple[float, ...], style: Style
) -> None:
    """Bob, sway, roll and pitch of the trunk, and the bending of the back."""
    leg, count = body.leg, len(body.limbs.legs)
    two, rocks = count == 2, count == 4 and not gait.footfalls.symmetrical
    sway = by_legs(gait.sway, count)
    bob = gait.bob * style.bob * leg * (gait.bob_two_legs if two else 1.0)
    bob = float(np.clip(bob, -0.35 * body.limbs.clearance, 0.35 * body.limbs.clearance))
    pitch, yaw = np.zeros_like(cycles), np.zeros_like(cycles)
    if rocks:
        # Circular means of the touchdowns of a pair.
        pairs = ([np.exp(1j * TAU * p) for p, g in zip(phases, body.limbs.legs) if g.rank == k] for k in (0, 1))
        fore, hind = (float(np.angle(sum(pair)) / TAU) + duty / 2 for pair in pairs)
        # Lowest between the fore and hind stances' middles of one support, nose up over the hind legs.
        gather = fore + 0.5 * ((hind - fore) % 1.0)
        plan.shift[:, 1] = bob * np.cos(TAU * (cycles - gather - 0.5)) * 0.8
        plan.tilt[:, 0] = -0.10 * body.rock * style.bob * np.cos(TAU * (cycles - hind))
        pitch = 0.22 * body.rock * style.bob * np.cos(TAU * (cycles - gather))
    elif gait.footfalls.together:
        plan.shift[:, 1] = bob * np.cos(TAU * (cycles - duty / 2))
        plan.tilt[:, 0] = 0.08 * np.cos(TAU * (cycles - duty / 2))
    else:
        plan.shift[:, 1] = bob * np.cos(2 * TAU * (cycles - duty / 2))
        plan.tilt[:, 0] += 0.012 * style.bob * np.sin(2 * TAU * (cycles - duty / 2))
    if sway and not rocks:
        beat = np.cos(TAU * (cycles - duty / 2))
        plan.shift[:, 0] = sway * leg * style.sway * beat
        plan.tilt[:, 2] = (0.035 if two else 0.02) * style.sway * beat
        turn = (0.10 if two else 0.03) * style.sway * np.sin(TAU * (cycles - duty / 2))
        # The pelvis turns the swinging leg forward; the back turns the shoulders the other way.
        plan.tilt[:, 1] = turn if two else 0.5 * turn
        yaw = -1.8 * turn if two else 2.0 * turn
    if gait.lame:
        plan.shift[:, 1] += 0.05 * leg * style.side * -np.cos(TAU * (cycles - duty / 2))
    lean = gait.lean if two else 0.0
    plan.tilt[:, 0] += style.lean + 0.3 * lean
    bend(plan, body.limbs.spine, pitch=pitch + 0.7 * lean, yaw=yaw)


def _follow(body: GaitBody, plan: FootPlan, gait: Gait, cycles: np.ndarray, duty: float, style: Style) -> None:
    """Neck, head and tail: the head stays level and nods, the tail swings after the hips."""
    limbs = body.limbs
    beats, side = by_legs(gait.nods, len(limbs.legs)), -style.side if gait.lame else 1
    pitch = -plan.tilt[:, 0] * 0.7 + side * gait.nod * style.nod * np.cos(beats * TAU * (cycles - duty / 2 - 0.1))
    pitch += by_legs(gait.head_down, len(limbs.legs))
    bend(plan, limbs.neck or body.neck, pitch=pitch, yaw=0.3 * np.sign(gait.turn))
    if limbs.head is not None:
        bend(plan, (limbs.head,), pitch=style.head - 0.5 * pitch)
    sweep = gait.tail * style.tail
    for k, j in enumerate(limbs.tail):
        wave = TAU * (cycles - 0.5 * (k + 1) / len(limbs.tail))
        pitch, yaw = 0.3 * sweep / len(limbs.tail) * np.cos(2 * wave), sweep / len(limbs.tail) * np.sin(wave)
        bend(plan, (j,), pitch=pitch, yaw=yaw)
