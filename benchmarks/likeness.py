"""How alike two motions of one body are, by dynamic time warping of its joints: a judge that knows no video prior."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

FPS = 12.0
"""Frames per second at which motions are compared."""
SPEED_WEIGHT = 0.15
"""Weight of velocities [heights per second] beside places [heights]."""
STILL = 0.01
"""Mean distance from standing [heights] below which all bodies stand alike."""
HAND = 5
"""Joints of an arm that are compared, from the shoulder; the others are fingers."""

Features = Float[np.ndarray, "_ joints 6"]
"""Frames, joints, place and velocity."""


@dataclass(frozen=True)
class Landmarks:
    """Joints of a body that are compared, and which of them is each one's mirror partner."""

    joints: Int[np.ndarray, "n"]
    partner: Int[np.ndarray, "n"]

    @staticmethod
    def of(limbs: Limbs) -> "Landmarks":
        """Limbs, spine, neck, head and tail; a joint without a partner is its own."""
        chains: dict[tuple, tuple[int, ...]] = {("leg", leg.rank, leg.side): leg.joints for leg in limbs.legs}
        seen: dict[tuple, int] = {}
        for arm in limbs.arms:
            seen[arm.kind, arm.side] = rank = seen.get((arm.kind, arm.side), -1) + 1
            chains[arm.kind, rank, arm.side] = arm.joints[:HAND]
        middle = (*limbs.spine, *limbs.neck, *limbs.heads, *(joint for tail in limbs.tails for joint in tail))
        joints = list(dict.fromkeys((0, *middle, *(joint for chain in chains.values() for joint in chain))))
        place = {joint: index for index, joint in enumerate(joints)}
        partner = list(range(len(joints)))
        for (kind, rank, side), chain in chains.items():
            for one, other in zip(chain, chains.get((kind, rank, -side), ())):
                partner[place[one]] = place[other]
        return Landmarks(np.array(joints), np.array(partner))


def features(motion: Motion, rig: Rig, landmarks: Landmarks, *, height: float) -> Features:
    """Places and velocities of the landmarks, seen from the root over the ground, as the body first faces +Z."""
    count = max(2, round((len(motion) - 1) / motion.fps * FPS) + 1)
    at = torch.linspace(0, len(motion) - 1, count, dtype=torch.float64)
    pose = motion.at(at).pose(rig.to(dtype=motion.angles.dtype)).detach().double().cpu().numpy()
    ahead = pose[0, 0, :, 2]
    turn = np.arctan2(ahead[0], ahead[2])
    c, s = np.cos(turn), np.sin(turn)
    heads = pose[..., 3]
    places = heads[:, landmarks.joints] - heads[:, :1] * [1, 0, 1]
    places = places @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) / height
    speed = np.gradient(places, axis=0) * FPS
    return np.concatenate((places, SPEED_WEIGHT * speed), -1)


def mirrored(values: Features, landmarks: Landmarks) -> Features:
    """The same motion with left and right exchanged."""
    return values[:, landmarks.partner] * [-1, 1, 1, -1, 1, 1]


def distance(
    one: Features, other: Features, landmarks: Landmarks, *, standing: Features, repeats: bool = False
) -> float:
    """Mean distance of the joints along the best alignment in time, of the other or its mirror image, each seen from
    `standing` (one frame) and relative to how far it is from it: a lively and a calm walk are alike, and whoever stands
    is at 1 from all who do anything.

    An `other` that repeats is played round and round, and may be entered and left anywhere: where in its cycle a gait
    begins says nothing, and without this a walk is nearer to somebody who stands than to a walk half a cycle later.
    """
    rounds = 1 + math.ceil(2 * len(one) / len(other)) if repeats else 1
    seen, known = _relative(one, standing), _relative(other, standing)
    sides = (np.tile(each, (rounds, 1, 1)) for each in (known, mirrored(known, landmarks)))
    return min(_warp(seen, each, within=repeats) for each in sides)


def _relative(values: Features, standing: Features) -> Features:
    away = values - standing
    return away / (np.linalg.norm(away, axis=-1).mean() + STILL)


def _warp(one: Features, other: Features, *, within: bool) -> float:
    """Mean cost per step of the cheapest path from the first frames to the last; frames may be held or skipped to.

    `within`: the path may begin and end at any frame of the other.
    """
    cost = np.linalg.norm(one[:, None] - other[None], axis=-1).mean(-1)
    total, steps = np.full(cost.shape, np.inf), np.ones(cost.shape)
    for i in range(cost.shape[0]):
        for j in range(cost.shape[1]):
            before = [(total[a, b], steps[a, b]) for a, b in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if a >= 0 <= b]
            before += [(0.0, 0.0)] if i == 0 and (within or j == 0) else []
            least, count = min(before)
            total[i, j], steps[i, j] = least + cost[i, j], count + 1
    mean = total[-1] / steps[-1]
    return float(mean.min() if within else mean[-1])
