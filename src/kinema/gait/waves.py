"""Swimming and slithering: a wave runs along the midline of a body without legs.

The midline is a curve x(s, t) over s, 0 at the nose and 1 at the tip of the tail. A cycle begins when that tip passes
the middle towards the left (upwards, where the tail fin lies level).
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from kinema.gait.arms import beat_wing
from kinema.gait.cycle import TAU, travel
from kinema.gait.kinds import Style, Wave
from kinema.gait.plan import Curve, FootPlan, GaitBody, bend
from kinema.geometry.rotations import ancestors

SLENDER = 12.0
"""Length of an eel or snake over the radius of its body."""
BIG_FIN = 0.33
"""Reach of fins that drive the body, as a ray's do [body lengths]."""
Slopes = Float[np.ndarray, "joints frames"]


def wave_plan(
    body: GaitBody, wave: Wave, *, frames: int, fps: float, phase: float, period: float, speed: float, style: Style
) -> FootPlan:
    """Plan of a wave: `phase` [cycles] at frame 0, `period` [s], `speed` [units per second]."""
    time, plan = np.arange(frames) / fps, FootPlan.still(body, frames)
    cycles = time / period + phase
    plan.path, _ = travel(time, speed=speed * body.leg, turn=0.0)
    joints, place, length = midline(body)
    fins = [arm for arm in body.limbs.arms if arm.wing]
    driving = bool(fins) and max(_reach(body, arm.joints) for arm in fins) > BIG_FIN * length
    if wave.on_track and not driving:
        slopes = _follow_track(plan, wave, cycles, place, stride=speed * period * body.leg, length=length, style=style)
        level = False
    else:
        level = driving or has_level_fluke(body)
        amplitude = wave.amplitude * min(style.tail, 1.5) * (0.25 if driving else 1.0)
        thick = float(np.abs(body.limbs.probes[joints][..., :2]).max())
        # Eels swim with more of a wave, and with more of the body.
        slim = replace(wave, waves=1.25 * wave.waves, head=0.4) if length > SLENDER * thick else wave
        slopes = _swing(plan, slim, cycles, place, amplitude=amplitude, length=length, level=level)
    index = {j: k for k, j in enumerate(joints)}
    for j in joints[1:]:
        parent = next(p for p in ancestors(body.rig.parents, j) if p in index)
        turn = slopes[index[j]] - slopes[index[parent]]
        bend(plan, (j,), pitch=-turn if level else 0.0, yaw=0.0 if level else turn)
    # Fins that drive beat as hard as a tail would.
    reach = min(6.0 * wave.amplitude, 0.75) * min(style.arms, 1.4) if driving else wave.fins
    for arm in fins:
        beat_wing(body, plan, arm, cycles, amplitude=reach, fold=0.0, opens=False)
    if driving:
        plan.shift[:, 1] -= 0.03 * length * np.cos(TAU * cycles)
    return plan


def midline(body: GaitBody) -> tuple[list[int], Float[np.ndarray, "joints"], float]:
    """Joints from the root to head and tail, the place s of the middle of each one's bone, and the length [m]."""
    parents, limbs = body.rig.parents, body.limbs
    ends = [j for j in (limbs.head, *limbs.tail[-1:]) if j is not None]
    line = sorted({0, *ends, *(k for j in ends for k in ancestors(parents, j))})
    reach = body.heads[line, None, 2] + limbs.probes[line][..., 2]
    front, back = float(reach.max()), float(min(reach.min(), body.heads[line, 2].min()))
    middles = []
    for j in line:
        below = [k for k in line if parents[k] == j]
        # The root lies between bones that go forward and back; its own frame belongs to its place.
        end = body.heads[below[0], 2] if len(below) == 1 and j else body.heads[j, 2]
        middles.append((body.heads[j, 2] + end) / 2)
    length = max(front - back, 1e-6)
    return line, np.clip((front - np.array(middles)) / length, 0.0, 1.0), length


def has_level_fluke(body: GaitBody) -> bool:
    """The tail ends in a fin that is wider than it is high: whales beat it up and down."""
    if not body.limbs.tail:
        return False
    flesh = np.abs(body.limbs.probes[list(body.limbs.tail[-2:])]).reshape(-1, 3).max(0)
    return bool(flesh[0] > 1.5 * flesh[1])


def _reach(body: GaitBody, joints: tuple[int, ...]) -> float:
    """How far a fin reaches to the side from its root [m]."""
    flesh = body.heads[list(joints), None, 0] + body.limbs.probes[list(joints)][..., 0]
    return float(np.abs(flesh - body.heads[joints[0], 0]).max())


def _swing(
    plan: FootPlan, wave: Wave, cycles: np.ndarray, place: np.ndarray, *, amplitude: float, length: float, level: bool
) -> Slopes:
    """Yaw (pitch upwards, if level) of the joints on x = A(s) sin(2π (c - w (s - 1))), and the root's way on it."""
    s = place[:, None]
    angle = TAU * (cycles - wave.waves * (s - 1))
    size = amplitude * (wave.head + (1 - wave.head) * s**2)
    growth = 2 * amplitude * (1 - wave.head) * s
    slopes = -np.arctan(growth * np.sin(angle) - TAU * wave.waves * size * np.cos(angle))
    plan.shift[:, 1 if level else 0] += length * size[0] * np.sin(angle[0])
    plan.tilt[:, 0 if level else 1] += -slopes[0] if level else slopes[0]
    return slopes


def _follow_track(
    plan: FootPlan, wave: Wave, cycles: np.ndarray, place: np.ndarray, *, stride: float, length: float, style: Style
) -> Slopes:
    """Yaw of joints on a track whose heading is α cos(2πu), u [cycles] along it; the stride fixes the wavelength."""
    turn = wave.amplitude * float(np.clip(style.sway, 0.75, 1.3))
    u = np.linspace(0.0, 1.0, 721)
    heading = turn * np.cos(TAU * u)
    mean = float(np.cos(heading[:-1]).mean())
    wavelength = max(stride / mean, 0.35 * length)

    def along(x: np.ndarray) -> Curve:
        """Integral over the track so far."""
        return np.concatenate(([0.0], np.cumsum((x[1:] + x[:-1]) / 2) / (len(u) - 1))) * wavelength

    across, ahead = along(np.sin(heading)), along(np.cos(heading) - mean)
    at = cycles + (1 - place[:, None]) * length / wavelength
    plan.shift[:, 0] += np.interp(at[0] % 1.0, u, across - across[:-1].mean())
    plan.shift[:, 2] += np.interp(at[0] % 1.0, u, ahead - ahead[:-1].mean())
    slopes = turn * np.cos(TAU * at)
    plan.tilt[:, 1] += slopes[0]
    return slopes
