"""Planting: stance feet are put on the ground and kept there by kinematics, the rest of the motion is kept.

First the root's path is moved so that the feet that stand need to move as little as possible; then each leg takes up
what is left, and fades it out over the swing before and after.
"""

import numpy as np
import torch
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

from kinema.geometry.rotations import runs
from kinema.geometry.transforms import apply
from kinema.motion.carry import Planted, carry_root, slip, stances
from kinema.motion.feet import Feet, PerFoot, Stance, Velocities, find_stance, touching, track_feet
from kinema.motion.foot_skin import FootSkin
from kinema.motion.motion import Motion, rotation_angles
from kinema.rig.cuboids import Cuboids, contact_corners
from kinema.rig.ik import Effector, reach
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

CLEARANCE = 0.05
"""Least height of a foot in mid-swing [leg lengths]: one that shuffles along would slide."""
LARGEST_EFFORT_DEG = 8.0
"""Mean change of a leg's joints beyond which a foot does not stay on the ground."""
STILL, MOST_LONGER = 0.3, 0.4
"""Speed below which a raised foot seems to hang in the air [of the body's speed; a swinging one goes at five times
that speed], and the share of a swing, at each end, for which it may stand instead."""
HOP = 0.5
"""Speed that every swing exceeds [of the body's speed]."""
ROUNDS = 6
"""How often feet are measured and moved again."""
ALL, UP = np.ones(3), np.array([0.0, 1.0, 0.0])
Offsets = Float[np.ndarray, "frames feet 3"]
Effectors = tuple[Effector, ...]


def plant(
    rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion, *, feet: Effectors | None = None,
    skin: FootSkin | None = None, stance: Stance | None = None, brisk: bool = False, period: int | None = None,
) -> Motion:  # fmt: skip
    """`plan_and_plant` without the plan."""
    options = {"feet": feet, "skin": skin, "stance": stance, "brisk": brisk, "period": period}
    return plan_and_plant(rig, cuboids, limbs, motion, **options)[0]


def plan_and_plant(
    rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion, *, feet: Effectors | None = None,
    skin: FootSkin | None = None, stance: Stance | None = None, brisk: bool = False, period: int | None = None,
) -> tuple[Motion, Stance]:  # fmt: skip
    """The motion with its stance feet at rest on the ground (float64), and when each foot stands.

    Args:
        feet: Contact points that the legs move; by default those of the soles. Physics gives the corners of its boxes
            (`find_box_feet`), which the simulated body stands on.
        skin: What is put on the ground; by default the contact points themselves.
        stance: When each foot stands; by default as `plan_stance` finds it.
        brisk: Feet that let go rise at once, whatever the motion does: one that goes ahead while it is low slides.
        period: Frames after which an unrolled loop repeats itself.
    """
    body, motion = Planted.of(rig, cuboids, limbs, feet, skin), motion.detached(torch.float64)
    if stance is None:
        stance = _every_round(plan_stance(rig, cuboids, limbs, motion, feet=feet), period)
    if len(motion) < 2 or not stance.any():
        # Without any stance nothing is known but that nothing may be under the ground.
        lowest = float(corner_paths(body.rig, cuboids, motion)[..., 1].min())
        lift = torch.tensor([0.0, max(0.0, -lowest), 0.0], dtype=torch.float64)
        return Motion(motion.root_position + lift, motion.angles, motion.fps), stance
    clearance, power = CLEARANCE * body.leg, 1 / 3 if brisk else 1.0

    def held(stance: Stance) -> tuple[Motion, Motion]:
        weight = np.ones(stance.shape)
        for _ in range(2):
            weight = weight * _importance(_first_try(body, motion, stance, weight)[2], stance)
        base, offset, _ = _first_try(body, motion, stance, weight)
        return base, _hold_feet(body, base, offset, stance, clearance=clearance, power=power)

    base, result = held(stance)
    # A foot that has been raised and does not move yet would hang in the air: it stands for longer instead.
    longer = _every_round(_until_they_move(body, base, result, stance), period) if brisk else stance
    return (result, stance) if (longer == stance).all() else (held(longer)[1], longer)


def ground_feet(
    rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion, *, skin: FootSkin | None = None,
    stance: Stance | None = None, carry: bool = True, period: int | None = None,
) -> tuple[Motion, Stance]:  # fmt: skip
    """The motion with its stance feet at the height of the ground and no foot below it (float64), and their stances.

    Root and legs move feet up and down only: what stands still or slides over the ground goes on doing so. `stance`:
    when each foot stands; by default as found. `carry`: off, the root moves only for legs that are too short.
    `period`: frames after which an unrolled loop repeats itself.
    """
    body, motion = Planted.of(rig, cuboids, limbs, None, skin), motion.detached(torch.float64)
    if stance is None:
        stance = _every_round(find_stance(track_feet(body.rig, limbs, motion)), period)
    if len(motion) < 2 or not stance.any():
        return motion, stance
    base = carry_root(body, motion, stance, np.ones(stance.shape), ahead=False) if carry else motion
    offset = _stance_offsets(*body.paths(base), stance, motion.fps) * UP
    return _hold_feet(body, base, offset, stance, clearance=0.0, power=1.0, axes=UP), stance


def _hold_feet(
    body: Planted, base: Motion, offset: Offsets, stance: Stance, *, clearance: float, power: float,
    axes: Float[np.ndarray, "3"] = ALL,
) -> Motion:  # fmt: skip
    """The legs take up the offsets of stance feet along `axes`, and the root comes down for legs that are too short.

    The best round wins, which need not be the last: a foot that lands may rock between its heel and its toes.
    """
    result, (rough, _), lift = base, body.paths(base), np.zeros(stance.shape)
    best, least = base, np.inf
    weights = touching(body.feet, base.pose(body.rig))
    for done in range(ROUNDS):
        # Legs turn their feet a little, so that other points are lowest: measured again and taken up again.
        whole = _swing_offsets(offset, rough, stance, base.fps, clearance=clearance, power=power)
        whole = whole + lift[..., None] * UP
        result = move_feet(body.rig, body.feet, base, whole, leg_length=body.leg, weights=weights)
        # A foot that is raised at its toes alone would go down at its heel: all that has touched counts.
        weights = [w + (new - w) / (done + 2) for w, new in zip(weights, touching(body.feet, result.pose(body.rig)))]
        heights, velocities = body.paths(result)
        left = _stance_offsets(heights, velocities, stance, base.fps) * axes
        deep = np.where(stance, 0.0, np.maximum(-heights, 0.0))
        away = float(np.square(left).sum() + np.square(deep).sum())
        if away < least:
            best, least = result, away
        offset, lift = offset + left, lift + deep
        # The root comes down for legs that hang in the air at full stretch, smoothly in time.
        lack = np.where(stance, np.maximum(heights - 1e-3 * body.leg, 0.0), 0.0).max(1, initial=0.0)
        sink = gaussian_filter1d(lack, max(0.06 * base.fps, 1e-3), mode="nearest")[:, None] * UP
        base = Motion(base.root_position - torch.from_numpy(sink), base.angles, base.fps)
        offset = offset + sink[:, None] * stance[..., None]
        rough = rough - sink[:, None, 1]
    return best


def plan_stance(rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion, *, feet: Effectors | None = None) -> Stance:
    """When each foot stands: as found, without the parts of stances that the leg would have to be bent much for.

    Where front and hind feet move at different speeds not all can stand as long as they are low: the body goes at a
    speed between, and a foot that would be left far behind lifts earlier.
    """
    body, motion = Planted.of(rig, cuboids, limbs, feet), motion.detached(torch.float64)
    found = track_feet(body.rig, limbs, motion)
    stance = _without_hops(found, find_stance(found))
    weight = np.ones(stance.shape)
    for _ in range(2 if stance.any() else 0):
        base, _, effort = _first_try(body, motion, stance, weight)
        weight = weight * _importance(effort, stance)
        # A foot that is under the ground is raised to it in any case, whether it stands there or not.
        out = np.maximum(-body.paths(base)[0], 0.0)[..., None] * UP
        effort = effort - _effort(body, base, out)
        for k, first, last in stances(stance):
            # Its longest part that is easy to keep on the ground; at least two frames.
            easy = runs(effort[first:last, k] <= LARGEST_EFFORT_DEG)
            a, b = max(easy, key=lambda run: run[1] - run[0], default=(0, 0))
            if b - a < 2:
                a = max(0, min(int(effort[first:last, k].argmin()), last - first - 2))
                b = a + 2
            stance[first : first + a, k] = False
            stance[first + b : last, k] = False
    return stance


def _without_hops(feet: Feet, stance: Stance) -> Stance:
    """Stances with the gaps in them in which the foot neither rises nor goes ahead, which is no swing."""
    stance, speed = stance.copy(), np.linalg.norm(feet.velocity[..., [0, 2]], axis=-1)
    least = HOP * _pace(feet.body, feet.fps, feet.leg)
    for k, first, last in stances(~stance):
        if first > 0 and last < len(stance):
            rises = feet.height[first:last, k].max() > feet.height[[first - 1, last], k].max() + CLEARANCE * feet.leg
            goes = speed[first - 1 : last, k].max() > least
            stance[first:last, k] = not (rises or goes)
    return stance


def _every_round(stance: Stance, period: int | None) -> Stance:
    """The stance of the middle cycle of an unrolled loop in all the others too.

    At the ends of a motion stances are found otherwise than amid it. A foot that stands over the seam in one round only
    would be held there in that round and not in the next, and no fading between the two can keep it still.
    """
    if period is None:
        return stance
    margin = (len(stance) - 1 - period) // 2
    return stance[margin + (np.arange(len(stance)) - margin) % period]


def _until_they_move(body: Planted, base: Motion, planted: Motion, stance: Stance) -> Stance:
    """Stances with the frames before and after in which the foot is low and as good as still over the ground.

    Still before it is planted or after: only planting raises it, which may turn its toes. At most `MOST_LONGER` of the
    swing at each end.
    """
    (heights, before), (_, after) = body.paths(base), body.paths(planted)
    speed = np.minimum(*(np.linalg.norm(velocity[..., [0, 2]], axis=-1) for velocity in (before, after)))
    still = speed < STILL * _pace(planted.root_position.numpy(), planted.fps, body.leg)
    low, longer = heights < CLEARANCE * body.leg, stance.copy()
    for k, first, last in stances(~stance):
        most = int(MOST_LONGER * (last - first))
        # `still[t]` is the interval from t to t + 1.
        for t in range(first, first + most if first > 0 else first):
            if not (still[t - 1, k] and low[t, k]):
                break
            longer[t, k] = True
        for t in range(last - 1, last - 1 - most if last < len(stance) else last - 1, -1):
            if not (still[t, k] and low[t, k]):
                break
            longer[t, k] = True
    return longer


def _pace(path: Float[np.ndarray, "frames 3"], fps: float, leg: float) -> float:
    """Mean speed over the ground of the body, or what counts as one where it goes nowhere [m/s]."""
    return max(float(np.linalg.norm((path[-1] - path[0])[[0, 2]])) / (len(path) - 1) * fps, 0.5 * leg)


def travel(rig: Rig, cuboids: Cuboids, limbs: Limbs, motion: Motion) -> Motion:
    """A motion made in place, with the root moved as its stance feet ask for; the angles stay."""
    motion, stance = motion.detached(torch.float64), plan_stance(rig, cuboids, limbs, motion)
    body, weight = Planted.of(rig, cuboids, limbs), np.ones(stance.shape)
    return carry_root(body, motion, stance, weight, fall=0.0) if stance.any() else motion


def move_feet(
    rig: Rig, feet: Effectors, motion: Motion, offset: Offsets, *, leg_length: float, iterations: int = 6,
    weights: list[Tensor] | None = None,
) -> Motion:  # fmt: skip
    """The motion with a part of each foot moved by `offset` [m]; its legs turn as little as that takes.

    `weights` are the shares of the contact points in that part; by default the lowest counts most.
    """
    weights, goals = weights or touching(feet, motion.pose(rig)), torch.from_numpy(offset)
    root, options = motion.root_position, {"unit": leg_length, "iterations": iterations}
    return Motion(root, reach(rig, root, motion.angles, feet, weights, goals, **options), motion.fps)


def corner_paths(rig: Rig, cuboids: Cuboids, motion: Motion) -> Float[Tensor, "frames joints 8 3"]:
    """Every contact point of the body (corners of its cuboids) in the world [m]."""
    T = motion.pose(rig)
    return apply(T, contact_corners(rig, cuboids).to(T).expand(len(T), -1, -1, -1))


def _first_try(body: Planted, motion: Motion, stance: Stance, weight: PerFoot) -> tuple[Motion, Offsets, PerFoot]:
    """The motion with its root carried, how far each foot is then off, and its leg's mean change of angle [deg]."""
    base = carry_root(body, motion, stance, weight)
    offset = _centre_in_reach(body, base, stance, _stance_offsets(*body.paths(base), stance, motion.fps))
    return base, offset, _effort(body, base, offset)


def _effort(body: Planted, base: Motion, offset: Offsets) -> PerFoot:
    """Mean change of angle of each leg's joints that moves its foot by the offset [deg]."""
    moved = move_feet(body.rig, body.feet, base, offset, leg_length=body.leg, iterations=4)
    bent = np.rad2deg(rotation_angles(body.rig, base, moved).numpy())
    return np.stack([bent[:, list(foot.chain)].mean(1) for foot in body.feet], 1)


def _importance(effort: PerFoot, stance: Stance) -> PerFoot:
    """Feet that cost their legs much have more say in where the root goes: near straight, a leg can hardly give."""
    result = np.ones(stance.shape)
    for k, first, last in stances(stance):
        result[first:last, k] = 1 + (effort[first:last, k].mean() / (LARGEST_EFFORT_DEG / 2)) ** 2
    return result


def _stance_offsets(heights: PerFoot, velocities: Velocities, stance: Stance, fps: float) -> Offsets:
    """How far each foot has to be moved in stance: against its slip and to the ground; about its mean place."""
    offset = np.zeros((*stance.shape, 3))
    for k, first, last in stances(stance):
        slipped = slip(velocities[first : last - 1, k], fps)
        offset[first:last, k] = slipped.mean(0) - slipped
        offset[first:last, k, 1] = -heights[first:last, k]
    return offset


def _swing_offsets(
    offset: Offsets, heights: PerFoot, stance: Stance, fps: float, *, clearance: float, power: float
) -> Offsets:
    """Fill the swings: out of the last stance's offset, into the next one's, and clear of the ground.

    The least height is `clearance` [m] in mid-swing, reached by a half sine to the given power.
    """
    frames, offset = len(stance), np.where(stance[..., None], offset, 0.0)
    for k, first, last in stances(~stance):
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


def _centre_in_reach(body: Planted, base: Motion, stance: Stance, offset: Offsets) -> Offsets:
    """A stance whose beginning is out of reach moves back as a whole, one whose end is, forwards."""
    place, offset = base.pose(body.rig)[..., 3].numpy(), offset.copy()
    heads = body.rig.heads.numpy()
    for k, foot in enumerate(body.feet):
        hip, end = place[:, foot.chain[0]], place[:, foot.chain[-1]]
        length = 0.98 * np.linalg.norm(np.diff(heads[list(foot.chain)], axis=0), axis=-1).sum()
        # What the motion itself reaches is always allowed.
        length = np.maximum(length, np.linalg.norm(end - hip, axis=-1))
        for _ in range(4):
            # Shortened sideways where the leg would have to be longer than it is.
            aim = end + offset[:, k] - hip
            room = np.sqrt(np.maximum(length**2 - aim[:, 1] ** 2, 0.0))
            scale = np.minimum(room / np.maximum(np.linalg.norm(aim[:, [0, 2]], axis=-1), 1e-9), 1.0)
            lack = aim * ((scale - 1)[:, None] * [1.0, 0.0, 1.0])
            for first, last in runs(stance[:, k]):
                offset[first:last, k] += lack[first:last].min(0) + lack[first:last].max(0)
    return offset
