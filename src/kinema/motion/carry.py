"""The root of a planted motion: its path is moved so that the feet that stand need to move as little as possible."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from kinema.geometry.rotations import is_below, runs
from kinema.motion.feet import PerFoot, Stance, Velocities, contact_paths, find_feet
from kinema.motion.flight import CLEAR, carried
from kinema.motion.foot_skin import FootSkin
from kinema.motion.motion import GRAVITY, Motion
from kinema.rig.cuboids import Cuboids, contact_corners
from kinema.rig.ik import Effector
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

FALL_WEIGHT = 1e3
"""Weight of falling faster than gravity, against 1 for the height of a stance foot [frames⁴]."""

BODY_WEIGHT = 10.0
"""Weight of the height of a body that rests or is under the ground before the first stance and after the last one."""
RESTING_S = 0.1
"""For so long nothing may bear a body that has left the ground: a prior's jump is not quite that of a thrown body."""


@dataclass(frozen=True)
class Planted:
    """What planting reads of a character."""

    rig: Rig
    feet: tuple[Effector, ...]
    """What the legs move."""
    skin: FootSkin | None
    """What is measured; None: the points of `feet`."""
    leg: float
    """Leg length [m]."""
    centers: Float[np.ndarray, "joints 3"]
    """Centres of mass in the joints' frames [m]."""
    shares: Float[np.ndarray, "joints"]
    """Shares of the body's mass."""
    corners: Float[np.ndarray, "joints 8 3"]
    """What of each joint may touch the ground, in its frame [m]."""

    @staticmethod
    def of(
        rig: Rig, cuboids: Cuboids, limbs: Limbs, feet: tuple[Effector, ...] | None = None, skin: FootSkin | None = None
    ) -> "Planted":
        mass = np.maximum(cuboids.volumes, 1e-4 * cuboids.volumes.sum())
        feet = find_feet(limbs) if feet is None else feet
        corners = contact_corners(rig, cuboids).double().numpy()
        rig = rig.to(torch.float64)
        return Planted(rig, feet, skin, limbs.leg_length, cuboids.centers, mass / mass.sum(), corners)

    def paths(self, motion: Motion) -> tuple[PerFoot, Velocities]:
        """Height of each foot [m] and velocity of what touches the ground [m/s]."""
        T = motion.pose(self.rig)
        return contact_paths(self.feet, T, fps=motion.fps) if self.skin is None else self.skin.paths(T, fps=motion.fps)


def carry_root(
    body: Planted, motion: Motion, stance: Stance, weight: PerFoot, *, fall: float = FALL_WEIGHT, ahead: bool = True
) -> Motion:
    """Move the root's path so that the stance feet, carried along, stand still on the ground as well as they can.

    Least squares over the root's shift r(t) and each stance's foothold c: |c - slip(t) - r(t)|², and |r̈|² so that the
    shift is smooth and goes on evenly while nothing touches. Heights alike, with footholds at 0, as far as the ground,
    which pushes and never pulls, can do it: where the height y of the centre of mass would fall faster than gravity
    makes it, fall |ÿ + g|² is added (Newton on which frames these are). `ahead`: off, it only moves up and down.

    Before the first stance and after the last one the shift of heights stays as it is: going on evenly, it would throw
    a body that dies into the air. One that rests in the air there comes down to the ground with what of it is lowest.
    """
    frames, fps = len(motion), motion.fps
    heights, velocities = body.paths(motion)
    pieces = [(k, slice(a, b)) for k, a, b in stances(stance)]
    spans, level = [(at, weight[at, k]) for k, at in pieces], np.zeros((frames, 2))
    if ahead:
        slips = [slip(velocities[at.start : at.stop - 1, k], fps)[:, [0, 2]] for k, at in pieces]
        level = np.linalg.solve(*_smooth_fit(frames, spans, slips, 0.06 * fps, free=True))[:frames]
    y = motion.pose(body.rig).numpy()[:, :, 1]
    mass_height = (np.einsum("fjk,jk->fj", y[..., :3], body.centers) + y[..., 3]) @ body.shares
    lows = (np.einsum("fjk,jck->fjc", y[..., :3], body.corners) + y[..., None, 3]).min(2)
    low, hips = lows.min(1), [foot.chain[0] for foot in body.feet]
    legs = [any(is_below(body.rig.parents, j, hip) for hip in hips) for j in range(lows.shape[1])]
    trunk = np.where(legs, np.inf, lows).min(1)  # legs are bent where they are under the ground
    rests = _rests(stance, low - CLEAR * body.leg, mass_height, fps)
    over = [heights[at, k, None] for k, at in pieces] + [low[at, None] for at in rests]
    spans += [(at, np.full(at.stop - at.start, BODY_WEIGHT)) for at in rests]
    normal, right = _smooth_fit(frames, spans, over, 0.1 * fps, free=False)
    bend = np.diff(np.eye(frames), n=2, axis=0)
    known = np.asarray(stance.any(1))
    for at in rests:
        known[at] = True
    first, last = np.flatnonzero(known)[[0, -1]]
    step = np.diff(np.eye(frames), axis=0)
    normal += (0.1 * fps) ** 2 * (step[:first].T @ step[:first] + step[last:].T @ step[last:])
    least = -bend @ mass_height - GRAVITY / fps**2
    stood, time = np.flatnonzero(stance.any(1)), np.arange(frames)
    lying = (time < stood[0]) | (time > stood[-1])
    falls, sinks, up = np.zeros(len(bend), dtype=bool), np.zeros(frames, dtype=bool), np.zeros(frames)
    for _ in range(20):
        rows, deep = bend[falls], BODY_WEIGHT * np.where(sinks, trunk, 0.0)
        up = np.linalg.solve(
            normal + fall * rows.T @ rows + BODY_WEIGHT * np.diag(sinks.astype(float)),
            right[:, 0] + fall * rows.T @ least[falls] - deep,
        )
        before, falls, sinks = (falls, sinks), bend @ up < least, lying & (up + trunk < 0)
        if (falls == before[0]).all() and (sinks == before[1]).all():
            break
    shift = np.stack((level[:, 0], up, level[:, 1]), -1)
    return Motion(motion.root_position + torch.from_numpy(shift), motion.angles, fps)


def _rests(
    stance: Stance, low: Float[np.ndarray, "frames"], mass_height: Float[np.ndarray, "frames"], fps: float
) -> list[slice]:
    """The frames at the ends of a motion in which the body rests in the air: nothing stands, the lowest point is up,
    and gravity alone does not explain the path."""
    frames, found = len(stance), []
    touching = np.flatnonzero(stance.any(1) | (low <= 0))
    for first, last in ((0, touching[0]), (touching[-1] + 1, frames)):
        seconds, begin, end = carried(mass_height[first:last], fps) if last - first > 2 else (0.0, 0, 0)
        if seconds > RESTING_S:
            found.append(slice(0, end) if first == 0 else slice(first + begin, last))
    return found


def _smooth_fit(
    frames: int, spans: list[tuple[slice, np.ndarray]], pieces: list[np.ndarray], sigma: float, *, free: bool
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n k"]]:
    """Normal equations of min Σ w |c - value(t) - r(t)|² + sigma⁴ |r̈|²; each piece has its c, 0 if not free.

    `spans` are the frames and weights of each piece, `pieces` its values.
    """
    count = frames + (len(pieces) if free else 0)
    normal, right = np.zeros((count, count)), np.zeros((count, pieces[0].shape[1]))
    for s, ((span, weight), values) in enumerate(zip(spans, pieces)):
        at = np.arange(span.start, span.stop)
        normal[at, at] += weight
        right[at] -= weight[:, None] * values
        if free:
            c = frames + s
            normal[at, c] -= weight
            normal[c, at] -= weight
            normal[c, c] += weight.sum()
            right[c] += weight @ values
    bend = np.diff(np.eye(frames), n=2, axis=0)
    normal[:frames, :frames] += sigma**4 * bend.T @ bend
    # Of all equal solutions the shift that is nearest to none, so that a start that is right stays.
    normal[:frames, :frames] += 1e-9 * np.eye(frames)
    normal[0, 0] += 1.0 if free else 0.0
    return normal, right


def stances(stance: Stance) -> list[tuple[int, int, int]]:
    """Foot, first and one past the last frame of every stance."""
    return [(k, a, b) for k in range(stance.shape[1]) for a, b in runs(stance[:, k])]


def slip(velocity: Float[np.ndarray, "intervals 3"], fps: float) -> Float[np.ndarray, "frames 3"]:
    """How far a foot has slipped since its stance began."""
    return np.concatenate((np.zeros((1, 3)), np.cumsum(velocity, axis=0))) / fps
