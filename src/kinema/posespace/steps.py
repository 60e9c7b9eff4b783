"""Feet on the way from one clip to the next: each stays where it stands, or lifts and steps to where it will stand."""

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.motion.feet import find_feet, find_stance, track_feet
from kinema.motion.motion import Motion
from kinema.motion.plant import move_feet
from kinema.rig.ik import Effector
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

SAME_PLACE = 0.04
"""Distance between two footholds up to which a foot stays instead of stepping [leg lengths]."""
CLEARANCE = 0.12
"""Height of a step in its middle [leg lengths]; less for short ones."""
REACH = 0.4
"""How far the body may go while a foot stands still before or behind it [leg lengths]."""
Point = Float[Tensor, "3"]
LANDS = LEAVES = 0.5
"""When a foot in the air lands, and one that will be in the air leaves, as shares of the way."""
ROUNDS = 3
"""Legs turn their feet a little, so that they are measured and moved again."""


def steps_between(rig: Rig, limbs: Limbs, motion: Motion, span: tuple[int, int]) -> Motion:
    """The motion with feet that stand or step between two frames, whose poses stay as they are."""
    if not limbs.legs or not limbs.ground or span[1] - span[0] < 2:
        return motion
    first, last = span
    stand = np.stack(
        [find_stance(track_feet(rig, limbs, part))[k] for part, k in ((motion[: first + 1], -1), (motion[last:], 0))]
    )
    if not stand.any():
        return motion
    feet, double = find_feet(limbs), rig.to(torch.float64)
    part = motion[first : last + 1].detached(torch.float64)
    start = torch.stack([foot.at(part.pose(double)).mean(1) for foot in feet], 1)
    speed = _foot_speeds(feet, motion, double, span) * torch.from_numpy(~stand)[..., None]
    speed = speed * (last - first) / motion.fps
    goals, time = start.clone(), torch.linspace(0, 1, len(part), dtype=torch.float64)
    way = float((part.root_position[-1] - part.root_position[0])[[0, 2]].norm())
    for k, (foot, leg) in enumerate(zip(feet, limbs.legs)):
        points = foot.at(part.pose(double)[:1])[0, :, 1]
        ground = float(start[0, k, 1] - points.amin())
        # Diagonal feet step together, as in a trot; where others are in the air already, while those stand.
        early = (leg.rank + (leg.side > 0)) % 2 == 1 if stand.all() else bool(stand[0].all())
        how = {"stands": (bool(stand[0, k]), bool(stand[1, k])), "early": early, "leg": limbs.leg_length, "way": way}
        goals[:, k] = _path(_nodes(start[0, k], start[-1, k], speed[:, k], ground, **how), time, limbs.leg_length)
    weights = [torch.full((len(part), len(foot.points)), 1 / len(foot.points)).double() for foot in feet]
    moved = part
    for _ in range(ROUNDS):
        T = moved.pose(double)
        lowest = torch.stack([foot.at(T)[..., 1].amin(1) for foot in feet], 1)
        # The poses at both ends stay; what they have in the ground there is theirs.
        goals[1:-1, :, 1] += (-lowest).clamp(min=0)[1:-1]
        offset = (goals - start).numpy()
        offset[[0, -1]] = 0.0
        moved = move_feet(double, feet, part, offset, leg_length=limbs.leg_length, weights=weights)
    angles = motion.angles.clone()
    angles[first + 1 : last] = moved.angles[1:-1].to(angles)
    return Motion(motion.root_position, angles, motion.fps)


def _foot_speeds(
    feet: tuple[Effector, ...], motion: Motion, rig: Rig, span: tuple[int, int]
) -> Float[Tensor, "2 feet 3"]:
    """Velocity of each foot before the way and after it [m/s]."""
    rates = []
    for low in (max(span[0] - 1, 0), span[1]):
        T = motion[low : low + 2].detached(torch.float64).pose(rig)
        places = torch.stack([foot.at(T).mean(1) for foot in feet], 1)
        rates.append((places[-1] - places[0]) * motion.fps)
    return torch.stack(rates)


@dataclass(frozen=True)
class _Node:
    """A moment of a foot's way."""

    time: float
    """Share of the whole way."""
    place: Point
    velocity: Point
    """[m per whole way]"""


def _nodes(
    a: Point, b: Point, speed: Float[Tensor, "2 3"], ground: float, *, stands: tuple[bool, bool], early: bool,
    leg: float, way: float,
) -> list[_Node]:  # fmt: skip
    """When a foot leaves its place, where it lands and when, from a to b while the body goes so far [m]."""
    none, away = torch.zeros_like(a), float((b - a)[[0, 2]].norm())
    first, last = _Node(0.0, a, speed[0]), _Node(1.0, b, speed[1])
    if stands == (True, True):
        if away < SAME_PLACE * leg:
            return [first, last]
        # No leg is left farther behind than it reaches.
        hold = min(0.5, REACH * leg / away)
        begin, end = (0.0, 1 - hold) if early else (hold, 1.0)
        return [first, _Node(begin, a, none), _Node(end, b, none), last]
    if stands == (True, False):
        return [first, _Node(LEAVES, a, none), last]
    if stands == (False, True):
        # One that was about to land and has to go farther does not come down first.
        up = speed[0].clamp(min=speed.new_tensor([-torch.inf, 0.0, -torch.inf]))
        return [_Node(0.0, a, up) if away > SAME_PLACE * leg else first, _Node(LANDS, b, none), last]
    if away > 0.5 * way:
        return [first, last]
    # The body passes over a foot that is about to land in one clip and has just left in the next: it stands between.
    middle = torch.stack(((a[0] + b[0]) / 2, a.new_tensor(ground), (a[2] + b[2]) / 2))
    return [first, _Node(0.5 * LANDS, middle, none), _Node(0.5 + 0.5 * LEAVES, middle, none), last]


def _path(nodes: list[_Node], time: Float[Tensor, "n"], leg: float) -> Float[Tensor, "n 3"]:
    """Cubics from node to node; steps rise in their middle."""
    path = nodes[0].place.expand(len(time), 3).clone()
    for one, two in itertools.pairwise(nodes):
        length = two.time - one.time
        if length <= 0:
            continue
        s, way = ((time - one.time) / length).clamp(0, 1), two.place - one.place
        piece = hermite(one.place, two.place, one.velocity, two.velocity, s, length)
        rise = CLEARANCE * min(leg, float(way[[0, 2]].norm()) / REACH) if float(way.norm()) > SAME_PLACE * leg else 0.0
        piece[:, 1] += rise * torch.sin(torch.pi * s) ** 2
        path = torch.where((time >= one.time)[:, None], piece, path)
    return path


def slope_basis(shares: Float[Tensor, "n *_"]) -> tuple[Tensor, Tensor]:
    """Cubics with slope one at the beginning or at the end, and else neither value nor slope at both."""
    return shares * (1 - shares) ** 2, shares**2 * (shares - 1)


def hermite(a: Tensor, b: Tensor, slope_a: Tensor, slope_b: Tensor, shares: Tensor, seconds: float) -> Tensor:
    """From a to b with given velocities at both, at shares of the seconds between them."""
    s = shares.view(-1, *(1,) * a.ndim)
    out, into = slope_basis(s)
    return a + s * s * (3 - 2 * s) * (b - a) + seconds * (out * slope_a + into * slope_b)
