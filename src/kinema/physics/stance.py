"""A target that can be tracked: stance feet are put on the ground and kept there, the rest of the motion is kept.

First the root's path is moved so that the feet that stand need to move as little as possible; then each leg takes up
what is left, and fades it out over the swing before and after.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.motion.motion import Motion
from kinema.physics.feet import Foot, corner_paths, find_feet, find_stance, foot_paths, phases
from kinema.physics.legs import reach
from kinema.physics.measure import rotation_angles
from kinema.physics.model import GRAVITY, contact_corners
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

CLEARANCE = 0.05
"""Least height of a foot in mid-swing [leg lengths]: one that shuffles along would slide."""
EFFORT = 8.0
"""Mean change of a leg's joints beyond which a foot does not stay on the ground [deg]."""
FALL = 1e3
"""Weight of what falls faster than gravity makes it, against 1 for the height of a stance foot [frames⁴]."""
Stance = Bool[np.ndarray, "frames feet"]


def consistent_target(
    rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion, *, stance: Stance | None = None, brisk: bool = False
) -> Motion:
    """The motion with its stance feet at rest on the ground (float64).

    Args:
        stance: When each foot stands; by default as `plan_stance` finds it.
        brisk: Feet that let go rise at once, whatever the motion does: one that goes ahead while it is low slides.
    """
    rig = rig.to(torch.float64)
    motion = Motion(motion.root_position.detach().double(), motion.angles.detach().double(), motion.fps)
    feet = find_feet(rig, limbs)
    if stance is None:
        stance = plan_stance(rig, cuboids, limbs, motion)
    if len(motion) < 2 or not stance.any():
        return _above_ground(rig, cuboids, motion)
    weight = np.ones(stance.shape)
    for _ in range(2):
        weight = weight * _importance(_first_try(rig, cuboids, limbs, feet, motion, stance, weight)[2], stance)
    base, offset, _ = _first_try(rig, cuboids, limbs, feet, motion, stance, weight)
    corners = contact_corners(rig, cuboids)
    rough = foot_paths(rig, cuboids, feet, base)[0].numpy()
    result = base
    for _ in range(3):
        # Legs turn their feet a little, so that other points are lowest: measured again and taken up again.
        whole = _swing_offsets(
            offset, rough, stance, motion.fps, clearance=CLEARANCE * limbs.leg_length, power=1 / 3 if brisk else 1.0
        )
        result = reach(rig, corners, feet, base, torch.from_numpy(whole), leg_length=limbs.leg_length)
        heights, velocities = (x.numpy() for x in foot_paths(rig, cuboids, feet, result))
        offset = offset + _stance_offsets(heights, velocities, stance, motion.fps)
        sink = _sink(heights, stance, motion.fps)
        base = Motion(base.root_position - torch.from_numpy(sink), base.angles, base.fps)
        offset = offset + sink[:, None] * stance[..., None]
        rough = rough - sink[:, None, 1]
    return result


def plan_stance(rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion) -> Stance:
    """When each foot stands: as found, without the parts of stances that the leg would have to be bent much for.

    Where front and hind feet move at different speeds not all can stand as long as they are low: the body goes at a
    speed between, and a foot that would be left far behind lifts earlier.
    """
    rig = rig.to(torch.float64)
    motion = Motion(motion.root_position.detach().double(), motion.angles.detach().double(), motion.fps)
    feet = find_feet(rig, limbs)
    stance = find_stance(rig, cuboids, limbs, motion, feet=feet)
    weight = np.ones(stance.shape)
    for _ in range(2 if stance.any() else 0):
        _, _, effort = _first_try(rig, cuboids, limbs, feet, motion, stance, weight)
        weight = weight * _importance(effort, stance)
        for k, first, last in _runs(stance):
            # Its longest part that is easy to keep on the ground; at least two frames.
            easy = phases(effort[first:last, k] <= EFFORT)
            a, b = max(easy, key=lambda run: run[1] - run[0], default=(0, 0))
            if b - a < 2:
                a = min(int(effort[first:last, k].argmin()), last - first - 2)
                b = a + 2
            stance[first : first + a, k] = False
            stance[first + b : last, k] = False
    return stance


def _first_try(
    rig: Rig,
    cuboids: Cuboids,
    limbs: Limbs,
    feet: tuple[Foot, ...],
    motion: Motion,
    stance: Stance,
    weight: Float[np.ndarray, "frames feet"],
) -> tuple[Motion, Float[np.ndarray, "frames feet 3"], Float[np.ndarray, "frames feet"]]:
    """The motion with its root carried, how far each foot is then off, and its leg's mean change of angle [deg]."""
    base = _carry_root(rig, cuboids, feet, motion, stance, weight)
    heights, velocities = (x.numpy() for x in foot_paths(rig, cuboids, feet, base))
    offset = _stance_offsets(heights, velocities, stance, motion.fps)
    offset = _centre_in_reach(rig, feet, base, stance, offset)
    corners = contact_corners(rig, cuboids)
    moved = reach(rig, corners, feet, base, torch.from_numpy(offset), leg_length=limbs.leg_length, iterations=4)
    bent = np.rad2deg(rotation_angles(rig, base, moved).numpy())
    return base, offset, np.stack([bent[:, list(foot.chain)].mean(1) for foot in feet], 1)


def _importance(effort: Float[np.ndarray, "frames feet"], stance: Stance) -> Float[np.ndarray, "frames feet"]:
    """Feet that cost their legs much have more say in where the root goes: near straight, a leg can hardly give."""
    result = np.ones(stance.shape)
    for k, first, last in _runs(stance):
        result[first:last, k] = 1 + (effort[first:last, k].mean() / (EFFORT / 2)) ** 2
    return result


def travel(rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion) -> Motion:
    """A motion made in place, with the root moved as its stance feet ask for; the angles stay."""
    rig = rig.to(torch.float64)
    motion = Motion(motion.root_position.detach().double(), motion.angles.detach().double(), motion.fps)
    feet = find_feet(rig, limbs)
    stance = plan_stance(rig, cuboids, limbs, motion)
    if not stance.any():
        return motion
    return _carry_root(rig, cuboids, feet, motion, stance, np.ones(stance.shape), fall=0.0)


def _above_ground(rig: Rig, cuboids: Cuboids, motion: Motion) -> Motion:
    """Without any stance nothing is known but that nothing may be under the ground."""
    lowest = float(corner_paths(rig, cuboids, motion)[..., 1].min())
    lift = torch.tensor([0.0, max(0.0, -lowest), 0.0], dtype=torch.float64)
    return Motion(motion.root_position + lift, motion.angles, motion.fps)


def _carry_root(
    rig: Rig,
    cuboids: Cuboids,
    feet: tuple[Foot, ...],
    motion: Motion,
    stance: Stance,
    weight: Float[np.ndarray, "frames feet"],
    fall: float = FALL,
) -> Motion:
    """Move the root's path so that the stance feet, carried along, stand still on the ground as well as they can.

    Least squares over the root's shift r(t) and each stance's foothold c: |c - slip(t) - r(t)|², and |r̈|² so that the
    shift is smooth and goes on evenly while nothing touches. Heights alike, with footholds at 0, as far as the ground,
    which pushes and never pulls, can do it.
    """
    heights, velocities = (x.numpy() for x in foot_paths(rig, cuboids, feet, motion))
    runs = [(k, slice(a, b)) for k, a, b in _runs(stance)]
    slips = [_slip(velocities[at.start : at.stop - 1, k], motion.fps)[:, [0, 2]] for k, at in runs]
    spans = [(at, weight[at, k]) for k, at in runs]
    level = np.linalg.solve(*_smooth_fit(len(motion), spans, slips, 0.06 * motion.fps, free=True))
    up = _raise(rig, cuboids, motion, spans, [heights[at, k, None] for k, at in runs], fall)
    shift = np.stack((level[: len(motion), 0], up, level[: len(motion), 1]), -1)
    return Motion(motion.root_position + torch.from_numpy(shift), motion.angles, motion.fps)


def _smooth_fit(
    frames: int,
    spans: list[tuple[slice, Float[np.ndarray, "_"]]],
    pieces: list[Float[np.ndarray, "_ k"]],
    sigma: float,
    *,
    free: bool,
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n k"]]:
    """Normal equations of min Σ w |c - value(t) - r(t)|² + sigma⁴ |r̈|²; each piece has its c, 0 if not free.

    Args:
        spans: Frames and weights of each piece.
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
    # Which of all equal solutions: the shift that is nearest to none, so a start that is right stays.
    normal[:frames, :frames] += 1e-9 * np.eye(frames)
    normal[0, 0] += 1.0 if free else 0.0
    return normal, right


def _raise(
    rig: Rig,
    cuboids: Cuboids,
    motion: Motion,
    spans: list[tuple[slice, Float[np.ndarray, "_"]]],
    heights: list[Float[np.ndarray, "_ 1"]],
    fall: float,
) -> Float[np.ndarray, "frames"]:
    """The shift of the root's height that brings stance feet to the ground and that gravity allows.

    The ground pushes and never pulls: where the height y of the centre of mass would fall faster than gravity makes it,
    fall |ÿ + g|² is added (Newton on which frames these are).
    """
    frames, rate = len(motion), motion.fps
    normal, right = _smooth_fit(frames, spans, heights, 0.1 * rate, free=False)
    bend = np.diff(np.eye(frames), n=2, axis=0)
    least = -bend @ _mass_height(rig, cuboids, motion) - GRAVITY / rate**2
    falls = np.zeros(len(bend), dtype=bool)
    result = np.zeros(frames)
    for _ in range(20):
        rows = bend[falls]
        result = np.linalg.solve(normal + fall * rows.T @ rows, right[:, 0] + fall * rows.T @ least[falls])
        before, falls = falls, bend @ result < least
        if (falls == before).all():
            break
    return result


def _mass_height(rig: Rig, cuboids: Cuboids, motion: Motion) -> Float[np.ndarray, "frames"]:
    """Of the centre of mass [m]."""
    T = motion.pose(rig).numpy()
    mass = np.maximum(cuboids.volumes, 1e-4 * cuboids.volumes.sum())
    return (np.einsum("fjk,jk->fj", T[:, :, 1, :3], cuboids.centers) + T[:, :, 1, 3]) @ (mass / mass.sum())


def _runs(stance: Stance) -> list[tuple[int, int, int]]:
    """Foot, first and one past the last frame of every stance."""
    return [(k, a, b) for k in range(stance.shape[1]) for a, b in phases(stance[:, k])]


def _slip(velocity: Float[np.ndarray, "intervals 3"], fps: float) -> Float[np.ndarray, "frames 3"]:
    """How far a foot has slipped since its stance began."""
    return np.concatenate((np.zeros((1, 3)), np.cumsum(velocity, axis=0))) / fps


def _stance_offsets(
    heights: Float[np.ndarray, "frames feet"],
    velocities: Float[np.ndarray, "intervals feet 3"],
    stance: Stance,
    fps: float,
) -> Float[np.ndarray, "frames feet 3"]:
    """How far each foot has to be moved in stance: against its slip and to the ground; about its mean place."""
    offset = np.zeros((*stance.shape, 3))
    for k, first, last in _runs(stance):
        slip = _slip(velocities[first : last - 1, k], fps)
        offset[first:last, k] = slip.mean(0) - slip
        offset[first:last, k, 1] = -heights[first:last, k]
    return offset


def _swing_offsets(
    offset: Float[np.ndarray, "frames feet 3"],
    heights: Float[np.ndarray, "frames feet"],
    stance: Stance,
    fps: float,
    *,
    clearance: float,
    power: float,
) -> Float[np.ndarray, "frames feet 3"]:
    """Fill the swings: out of the last stance's offset, into the next one's, and clear of the ground.

    Args:
        clearance: Least height in mid-swing [m].
        power: Of the half sine by which it is reached.
    """
    frames, offset = len(stance), np.where(stance[..., None], offset, 0.0)
    for k in range(stance.shape[1]):
        for first, last in phases(~stance[:, k]):
            at = np.arange(last - first) + 1
            # In mid-swing the foot moves under the body as it did; near a stance, as the foothold asks for.
            fade = max(1.0, min((last - first + 1) / 2, 0.2 * fps))
            if first > 0:
                offset[first:last, k] += _ease(1 - at / fade)[:, None] * offset[first - 1, k]
            if last < frames:
                offset[first:last, k] += _ease(1 - (last - first + 1 - at) / fade)[:, None] * offset[last, k]
            rise = clearance * np.sin(np.pi * at / (last - first + 1)) ** power
            offset[first:last, k, 1] = np.maximum(offset[first:last, k, 1], rise - heights[first:last, k])
    return offset


def _ease(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """From 0 to 1 with flat ends."""
    x = np.clip(x, 0.0, 1.0)
    return x * x * (3 - 2 * x)


def _sink(heights: Float[np.ndarray, "frames feet"], stance: Stance, fps: float) -> Float[np.ndarray, "frames 3"]:
    """How far the root has to come down for legs that hang in the air at full stretch."""
    lack = np.where(stance, np.maximum(heights - 1e-3, 0.0), 0.0).max(1, initial=0.0)
    return np.stack((np.zeros_like(lack), _smooth(lack, 0.06 * fps), np.zeros_like(lack)), -1)


def _centre_in_reach(
    rig: Rig, feet: tuple[Foot, ...], base: Motion, stance: Stance, offset: Float[np.ndarray, "frames feet 3"]
) -> Float[np.ndarray, "frames feet 3"]:
    """A stance whose beginning is out of reach moves back as a whole, one whose end is, forwards."""
    T, offset = base.pose(rig), offset.copy()
    for k, foot in enumerate(feet):
        chain = list(foot.chain)
        for _ in range(4):
            lack = _within_reach(rig, T, chain, torch.from_numpy(offset[:, k])).numpy() - offset[:, k]
            for first, last in phases(stance[:, k]):
                offset[first:last, k] += lack[first:last].min(0) + lack[first:last].max(0)
    return offset


def _within_reach(
    rig: Rig, T: Float[Tensor, "frames joints 3 4"], chain: list[int], offset: Float[Tensor, "frames 3"]
) -> Float[Tensor, "frames 3"]:
    """The offset of the last joint, shortened sideways where the leg would have to be longer than it is."""
    hip, end = T[:, chain[0], :, 3], T[:, chain[-1], :, 3]
    length = 0.98 * rig.heads[chain].diff(dim=0).norm(dim=-1).sum()
    # What the motion itself reaches is always allowed.
    length = torch.maximum(length, (end - hip).norm(dim=-1))
    aim = end + offset - hip
    room = (length.square() - aim[:, 1].square()).clamp(min=0).sqrt()
    scale = (room / aim[:, [0, 2]].norm(dim=-1).clamp(min=1e-9)).clamp(max=1)
    goal = hip + torch.stack((aim[:, 0] * scale, aim[:, 1], aim[:, 2] * scale), -1)
    return goal - end


def _smooth(values: Float[np.ndarray, "n"], sigma: float) -> Float[np.ndarray, "n"]:
    """Gaussian filter, the ends held."""
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(values, max(sigma, 1e-3), mode="nearest")
