"""Measures of bodies without steps: the wave along a swimmer, the slip of a snake, the beat of wings."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.geometry.rotations import ancestors
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

TAU = 2 * np.pi


@dataclass(frozen=True)
class BodyWave:
    """The first harmonic of the midline's swing across the path."""

    period: float
    """[s]"""
    speed: float
    """How fast the wave runs from head to tail, relative to the body [m/s]; a swimmer is slower than it."""
    head: float
    tail: float
    """Amplitudes at nose and tail [m]."""
    level: bool
    """It swings up and down rather than from side to side."""


@dataclass(frozen=True)
class Beat:
    """Wing beats of a clip."""

    period: float
    """[s]"""
    phase: float
    """Cycles since the wings were highest at frame 0, in [0, 1)."""
    stroke_deg: float
    """From the lowest to the highest position of the wing's tip, seen from its root [degrees]."""
    downstroke_span: float
    upstroke_span: float
    """Mean distance of the tip from the root [m]: a wing folds on the upstroke."""


def body_wave(rig: Rig, limbs: Limbs, motion: Motion) -> BodyWave:
    """The wave along the midline, from the positions of its joints."""
    line = _midline(rig, limbs)
    points = motion.pose(rig)[:, line, :, 3].double().numpy()
    points = points - points.mean(0)
    level = np.ptp(points[:, -1, 1]) > np.ptp(points[:, -1, 0])
    swing = points[..., 1 if level else 0]
    place = -rig.heads[line, 2].double().numpy()
    cycle = _frames_per_cycle(swing[:, -1])
    harmonic = _harmonic(swing, cycle)
    # Later towards the tail: the phase falls along the body by 2π per wavelength.
    lag = -np.unwrap(np.angle(harmonic))
    loud = np.abs(harmonic) > 0.15 * np.abs(harmonic).max()
    slope = np.polyfit(place[loud], lag[loud], 1, w=np.abs(harmonic)[loud])[0]
    speed = TAU / max(abs(slope), 1e-9) * motion.fps / cycle * np.sign(slope)
    head, tail = (float(abs(harmonic[k])) for k in (0, -1))
    return BodyWave(cycle / motion.fps, float(speed), head, tail, bool(level))


def track_slip(rig: Rig, limbs: Limbs, motion: Motion) -> float:
    """Mean speed of the joints across the body's own line, as a share of their speed: 0 follows the track."""
    line = _midline(rig, limbs)
    points = motion.pose(rig)[:, line][..., [0, 2], 3].double().numpy()
    velocity = (points[2:] - points[:-2]) / 2
    along = np.gradient(points, axis=1)[1:-1]
    along = along / np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-12)
    across = velocity[..., 0] * along[..., 1] - velocity[..., 1] * along[..., 0]
    return float(np.abs(across).mean() / max(np.linalg.norm(velocity, axis=-1).mean(), 1e-12))


def wing_beat(rig: Rig, limbs: Limbs, motion: Motion) -> Beat:
    """Beat of the first wing, by the tip of its last joint seen from its root."""
    wing = next(arm for arm in limbs.arms if arm.wing)
    pose = motion.pose(rig).double().numpy()
    tip = pose[:, wing.joints[-1], :, 3] - pose[:, wing.joints[0], :, 3]
    height = np.arctan2(tip[:, 1], np.hypot(tip[:, 0], tip[:, 2]))
    cycle = _frames_per_cycle(height)
    phase = float(np.angle(_harmonic(height[:, None], cycle)[0]) / TAU % 1.0)
    span, falls = np.linalg.norm(tip, axis=-1), np.gradient(height) < 0
    spans = [float(span[part].mean()) if part.any() else 0.0 for part in (falls, ~falls)]
    return Beat(cycle / motion.fps, phase, float(np.rad2deg(np.ptp(height))), *spans)


def _midline(rig: Rig, limbs: Limbs) -> list[int]:
    """Joints from the head to the tip of the tail."""
    ends = [j for j in (limbs.head, *limbs.tail[-1:]) if j is not None]
    line = {0, *ends, *(k for j in ends for k in ancestors(rig.parents, j))}
    return sorted(line, key=lambda j: -float(rig.heads[j, 2]))


def _frames_per_cycle(signal: Float[np.ndarray, "frames"]) -> float:
    """The period that explains a signal best, between four frames and the clip's length."""
    candidates = np.geomspace(4.0, len(signal) - 1, 400)
    centred = signal - signal.mean()
    fits = [_explained(centred, cycle) for cycle in candidates]
    best = int(np.argmax(fits))
    return float(candidates[best])


def _explained(signal: Float[np.ndarray, "frames"], cycle: float) -> float:
    """Share of a signal that its first two harmonics of a period explain."""
    t = np.arange(len(signal))
    waves = [f(TAU * k * t / cycle) for k in (1, 2) for f in (np.cos, np.sin)]
    basis = np.stack([np.ones(len(signal)), *waves], -1)
    fit = basis @ np.linalg.lstsq(basis, signal, rcond=None)[0]
    # A longer period fits half of itself as its second harmonic: prefer the first.
    first = basis[:, :3] @ np.linalg.lstsq(basis[:, :3], signal, rcond=None)[0]
    return float(-((signal - fit) ** 2).sum() - ((signal - first) ** 2).sum())


def _harmonic(signals: Float[np.ndarray, "frames n"], cycle: float) -> np.ndarray:
    """Complex amplitude of the first harmonic of each signal: a cos(2πt + φ) is a exp(iφ)."""
    t = np.arange(len(signals))
    basis = np.stack((np.ones(len(t)), np.cos(TAU * t / cycle), np.sin(TAU * t / cycle)), -1)
    _, cosine, sine = np.linalg.lstsq(basis, signals, rcond=None)[0]
    return cosine - 1j * sine
