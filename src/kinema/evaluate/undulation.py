"""Measures of bodies that take no steps: the wave along a swimmer, the slip of a snake, the beat of wings."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from kinema.rig.limbs import Limbs

LOUD = 0.15
"""Share of the greatest swing below which the phase of a place on the body is noise."""
STIFF = 0.12
"""Cycles between nose and tail up to which there is no wave."""
Signals = Float[np.ndarray, "frames n"]
Poses = Float[np.ndarray, "frames joints 3 4"]


@dataclass(frozen=True)
class BodyWave:
    """The first harmonic of the swing of a body's line, from the nose to the tip of its tail, across its path."""

    period: float
    """[s]"""
    speed: float | None
    """How fast the wave runs from head to tail [lengths of the line per second]; a swimmer is slower than it. None
    where the line swings as one piece."""
    nose: float
    tail: float
    """Amplitudes at the ends [lengths of the line]."""
    level: bool
    """It swings up and down rather than from side to side."""
    advance: float
    """How fast the body moves on [lengths of the line per second]."""
    slip: float
    """Mean speed of the line across itself as a share of its speed: 0 follows its own track."""

    def at_pace(self, rate: float) -> "BodyWave":
        """The same wave so many times as fast."""
        speed = None if self.speed is None else self.speed * rate
        return replace(self, period=self.period / rate, speed=speed, advance=self.advance * rate)


@dataclass(frozen=True)
class WingBeat:
    """Beats of the wings."""

    period: float
    """[s]"""
    phase: float
    """Cycles since the wings were highest at frame 0, in [0, 1)."""
    stroke_deg: float
    """From the lowest to the highest position of the tip, seen from its root [degrees]."""
    downstroke_span: float
    upstroke_span: float
    """Mean distance of the tip from the root [m]: a wing folds on the upstroke."""

    def at_pace(self, rate: float) -> "WingBeat":
        """The same beat so many times as fast."""
        return replace(self, period=self.period / rate)


def body_wave(T_world_joint: Poses, limbs: Limbs, parents: tuple[int, ...], *, fps: float) -> BodyWave | None:
    """The wave along the line of a body; None without a line of three joints, or in a clip too short to tell."""
    line = limbs.line(parents)
    if len(line) < 3 or len(T_world_joint) < 8:
        return None
    points = T_world_joint[..., 3][:, line]
    ends = [_flesh(T_world_joint, limbs, line[0], 1), _flesh(T_world_joint, limbs, line[-1], 2)]
    points = np.concatenate((ends[0][:, None], points, ends[1][:, None]), axis=1)
    steps = np.linalg.norm(np.diff(points, axis=1), axis=-1).mean(0)
    place, length = np.concatenate(([0.0], np.cumsum(steps))), max(float(steps.sum()), 1e-9)
    advance = points.mean(1)[-1] - points.mean(1)[0]
    forward = float(np.linalg.norm(advance[[0, 2]])) * fps / (len(points) - 1)
    points = points - points.mean(0) - np.linspace(-0.5, 0.5, len(points))[:, None, None] * advance
    level = np.ptp(points[:, -1, 1]) > np.linalg.norm(np.ptp(points[:, -1, [0, 2]], axis=0))
    heading = advance[[0, 2]] / max(float(np.linalg.norm(advance[[0, 2]])), 1e-9) if forward > 0.05 * length else [0, 1]
    swing = points[..., 1] if level else points[..., 0] * heading[1] - points[..., 2] * heading[0]
    cycle = frames_per_cycle(swing[:, -1])
    wave = harmonic(swing, cycle)
    size = np.abs(wave)
    # Later towards the tail: the phase falls along the body by 2π per wavelength.
    lag, loud = -np.unwrap(np.angle(wave)), size > LOUD * size.max()
    slope = np.polyfit(place[loud], lag[loud], 1, w=size[loud])[0] if loud.sum() > 1 else 0.0
    turns = float(slope) * length / (2 * np.pi)
    speed = fps / cycle / turns if abs(turns) > STIFF else None
    nose, tail = float(size[0]) / length, float(size[-1]) / length
    slip = track_slip(T_world_joint[..., 3][:, line])
    return BodyWave(cycle / fps, speed, nose, tail, bool(level), forward / length, slip)


def track_slip(points: Float[np.ndarray, "frames line 3"]) -> float:
    """Mean speed of a line across itself over the ground, as a share of its speed."""
    points = points[..., [0, 2]]
    velocity = (points[2:] - points[:-2]) / 2
    along = np.gradient(points, axis=1)[1:-1]
    along = along / np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-12)
    across = velocity[..., 0] * along[..., 1] - velocity[..., 1] * along[..., 0]
    return float(np.abs(across).mean() / max(np.linalg.norm(velocity, axis=-1).mean(), 1e-12))


def wing_beat(T_world_joint: Poses, limbs: Limbs, *, fps: float) -> WingBeat | None:
    """Beat of the first wing (or fin), by the flesh that is farthest out on its last joint, seen from its root."""
    wing = next((limb for kind in ("wing", "fin") for limb in limbs.limbs_of(kind)), None)
    if wing is None or len(T_world_joint) < 8:
        return None
    tip = _flesh(T_world_joint, limbs, wing.joints[-1], 2) - T_world_joint[:, wing.joints[0], :, 3]
    height = np.arctan2(tip[:, 1], np.hypot(tip[:, 0], tip[:, 2]))
    cycle = frames_per_cycle(height)
    phase = float(np.angle(harmonic(height[:, None], cycle)[0]) / (2 * np.pi) % 1.0)
    span, falls = np.linalg.norm(tip, axis=-1), np.gradient(height) < 0
    down, up = (float(span[part].mean()) if part.any() else 0.0 for part in (falls, ~falls))
    return WingBeat(cycle / fps, phase, float(np.rad2deg(np.ptp(height))), down, up)


def _flesh(T_world_joint: Poses, limbs: Limbs, joint: int, which: int) -> Float[np.ndarray, "frames 3"]:
    """Path of one of the vertices of `Limbs.probes` [m]."""
    pose = T_world_joint[:, joint]
    return pose[:, :, :3] @ limbs.probes[joint, which] + pose[:, :, 3]


def frames_per_cycle(signal: Float[np.ndarray, "frames"]) -> float:
    """The period that explains a signal best, between four frames and the clip's length."""
    candidates = np.geomspace(4.0, len(signal) - 1, 200)
    centred = signal - signal.mean()
    return float(candidates[int(np.argmax([_explained(centred, cycle) for cycle in candidates]))])


def _explained(signal: Float[np.ndarray, "frames"], cycle: float) -> float:
    """Minus what the first harmonic of a period, and its first two, leave of a signal: a period of twice the length
    has the signal as its second harmonic alone."""
    basis = _basis(len(signal), cycle, 2)
    rests = [signal - basis[:, :n] @ np.linalg.lstsq(basis[:, :n], signal, rcond=None)[0] for n in (3, 5)]
    return -float(sum((rest**2).sum() for rest in rests))


def harmonic(signals: Signals, cycle: float) -> np.ndarray:
    """Complex amplitude of the first harmonic of each signal: a cos(2πt + φ) is a exp(iφ)."""
    _, cosine, sine = np.linalg.lstsq(_basis(len(signals), cycle, 1), signals, rcond=None)[0]
    return cosine - 1j * sine


def _basis(frames: int, cycle: float, harmonics: int) -> Float[np.ndarray, "frames _"]:
    angles = [2 * np.pi * k * np.arange(frames) / cycle for k in range(1, harmonics + 1)]
    return np.stack([np.ones(frames), *(f(angle) for angle in angles for f in (np.cos, np.sin))], -1)
