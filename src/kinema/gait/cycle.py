"""Gaits: plans whose feet follow a footfall pattern along a path."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float

from kinema.gait.arms import swing_arms
from kinema.gait.kinds import Gait, Style, by_legs
from kinema.gait.plan import Curve, FootPlan, GaitBody, Path, bend, room, sole_dip
from kinema.rig.limbs import Leg

TAU = 2 * np.pi
Road = Callable[[np.ndarray], tuple[Path, Curve]]
Keys = tuple[float | int, ...]
LONGEST_STANCE = 1.15
"""Longest path of a stance foot under the body [leg lengths]; beyond it the stance gets shorter."""


def travel(time: Curve, *, speed: float, turn: float, direction: float = 0.0) -> tuple[Path, Curve]:
    """Position [m] and heading [rad] on a line or, with a yaw rate [rad/s], on a circle through the origin.

    `direction` is the angle from where the body faces to where it goes, + to the left.
    """
    heading = turn * time
    # sin(h)/h and (1 - cos h)/h, which are 1 and 0 on a straight line.
    along = time * np.sinc(heading / np.pi)
    across = time * np.sin(heading / 2) * np.sinc(heading / TAU)
    cosine, sine = np.cos(direction), np.sin(direction)
    place = (cosine * across + sine * along, np.zeros_like(time), cosine * along - sine * across)
    return speed * np.stack(place, -1), heading


def cycle_plan(
    body: GaitBody, gait: Gait, *, frames: int, fps: float, phase: float, period: float, speed: float, style: Style
) -> FootPlan:
    """Plan of a gait: `phase` [cycles] at frame 0, `period` [s], `speed` [leg lengths per second]."""
    time, legs, plan = np.arange(frames) / fps, body.limbs.legs, FootPlan.still(body, frames)
    cycles = time / period + phase
    path = partial(travel, speed=speed * body.leg, turn=gait.turn / period, direction=gait.heads(style))
    plan.path, plan.heading = path(time)
    duty = min(gait.duty * style.duty, LONGEST_STANCE * body.stride / max(speed * period, 1e-9))
    phases = gait.footfalls.touchdowns(legs)
    for i, leg in enumerate(legs):
        late = style.lag if leg.rank > 0 and not gait.footfalls.together else 0.0
        start = phase - phases[i] - late
        _step(body, plan, i, leg, gait, cycles - phases[i] - late, period, start, duty, path, style)
    pitch, yaw = _trunk(body, plan, gait, cycles, duty, phases, style)
    _follow(body, plan, gait, cycles, duty, style, pitch, yaw)
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
    height = by_legs(gait.lift, len(body.limbs.legs)) * style.lift * body.leg * (0.6 if spared else 1.0)
    contact[:, 1] += height * np.sin(np.pi * w**0.8) ** 2
    plan.contacts[i], plan.stance[i] = contact, ~swinging
    plan.foot_yaw[i] = yaw + s * (yaw_after - yaw)
    # The heel comes up at the end of stance, the toes point down early in swing and up before touchdown.
    heel = style.heel * by_legs(gait.heel, len(body.limbs.legs))
    more = heel + by_legs(gait.flick, len(body.limbs.legs))
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
) -> tuple[Curve, Curve]:
    """Bob, sway, roll and pitch of the trunk, and the bending of the back; returns the shoulders' pitch and yaw."""
    leg, count = body.leg, len(body.limbs.legs)
    two, rocks = count == 2, count == 4 and not gait.footfalls.symmetrical
    sway, spine = by_legs(gait.sway, count), by_legs(gait.spine, count) * style.spine * (1.0 if rocks else body.supple)
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
        # The back rounds while the feet are gathered under it and stretches in between.
        pitch = spine * (0.35 + 0.65 * body.rock) * room(body) * np.cos(TAU * (cycles - gather))
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
        # A girdle turns its leading leg forward; the back bends by the difference of the two girdles.
        hips, shoulders = (spine * turn for turn in _girdles(body, cycles, phases))
        plan.tilt[:, 1] = hips
        yaw = shoulders - hips
    if gait.lame:
        plan.shift[:, 1] += 0.05 * leg * style.side * -np.cos(TAU * (cycles - duty / 2))
    lean = gait.lean if two else 0.0
    plan.tilt[:, 0] += style.lean + 0.3 * lean
    bend(plan, body.limbs.spine, pitch=pitch + 0.7 * lean, yaw=yaw + 0.15 * np.sign(gait.turn))
    return plan.tilt[:, 0] + pitch, plan.tilt[:, 1] + yaw


def _girdles(body: GaitBody, cycles: np.ndarray, phases: tuple[float, ...]) -> tuple[Curve, Curve]:
    """Yaw of pelvis and shoulders, 1 at most: farthest to the right when a left foot touches down far ahead."""
    last, legs = max(leg.rank for leg in body.limbs.legs), tuple(zip(phases, body.limbs.legs))
    # Circular means of the times at which the left foot is ahead; the right one is half a cycle away.
    turns = [(leg.rank, np.exp(1j * TAU * (touchdown + (0.5 if leg.side < 0 else 0.0)))) for touchdown, leg in legs]
    fore, hind = (np.mean([turn for rank, turn in turns if rank == k]) for k in (0, last))
    ahead = np.exp(1j * TAU * cycles)
    hips = -(ahead * np.conj(hind)).real
    # Two legs: the arms turn the shoulders against the pelvis.
    return hips, -hips if last == 0 else -(ahead * np.conj(fore)).real


def _follow(
    body: GaitBody, plan: FootPlan, gait: Gait, cycles: np.ndarray, duty: float, style: Style, pitch: Curve, yaw: Curve
) -> None:
    """Neck, head and tail: the head stays level, looks ahead and nods, the tail swings after the hips."""
    limbs, count = body.limbs, len(body.limbs.legs)
    side, beats = -style.side if gait.lame else 1, by_legs(gait.nods, count)
    nod = by_legs(gait.nod, count) * style.nod * np.cos(beats * TAU * (cycles - duty / 2 - 0.1))
    # Against pitch and yaw of the shoulders.
    pitch = -0.7 * pitch + side * nod + by_legs(gait.head_down, count)
    bend(plan, limbs.neck or body.neck, pitch=pitch, yaw=0.3 * np.sign(gait.turn) - 0.8 * yaw)
    if limbs.head is not None:
        bend(plan, (limbs.head,), pitch=style.head - 0.5 * pitch)
    sweep, rocks = gait.tail * style.tail, count == 4 and not gait.footfalls.symmetrical
    for k, j in enumerate(limbs.tail):
        wave = TAU * (cycles - 0.5 * (k + 1) / len(limbs.tail))
        # Up and down with the croup in gallops and hops, from side to side with the hips otherwise.
        pitch = 2 * sweep * np.cos(wave) if rocks else 0.3 * sweep * np.cos(2 * wave)
        yaw = (0.25 if rocks else 1.0) * sweep * np.sin(wave)
        bend(plan, (j,), pitch=pitch / len(limbs.tail), yaw=yaw / len(limbs.tail))
