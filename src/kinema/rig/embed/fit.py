"""The best place of a template's points in the balls that fill a mesh.

As in Pinocchio the embedding is discrete: every point goes to the centre of a ball. The cost of a choice is how unusual
each point's place and each bone is for the body plan, and how much longer than the bone the shortest path through the
inside is. Costs live on points and bones only, so dynamic programming from the tips of the tree to its root finds the
best of all choices. Of a mesh that is its own mirror image only the middle and the left side are searched.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from kinema.rig.embed.medial import Balls
from kinema.rig.embed.templates import BodyFrame, Template

PLACE, BONE, OUTSIDE, TIP = 0.35, 1.0, 60.0, 1.0
"""Weights of the four costs: place, bone, detour through the inside, tips that do not reach an end of the body."""
STANDING = 8.0
"""Cost of a point of an arm near the ground."""
FLOOR = 0.035
"""Least spread of places and bones: the built-in creatures vary less than modelled ones."""
CANDIDATES = 60
"""Balls that are considered for each point: those with the least cost of their own."""
TRUNK = ("hips", "spine", "chest", "body", "thorax")
LIMB = re.compile(r"(lower|foot|hand|middle|tip|claw)$|(left|right)\w*_end$")
LEG_TIP = re.compile(r"(leg|(hind|front|middle|second|third)_(left|right))_end$")
Places = Float[np.ndarray, "points 3"]


@dataclass(frozen=True)
class Fit:
    """A template in a mesh."""

    template: Template
    places: Places
    cost: float
    """Sum of all costs over the number of points."""
    unreached: float
    """Share of the tips that no end of the body is near to, in [0, 1]."""
    thick: float
    """Share of the points of limbs that lie in flesh as thick as the trunk, in [0, 1]: there is no limb."""
    lifted: float
    """Share of the legs whose tips are off the ground, in [0, 1]."""
    miscounted: float
    """Half the difference between the numbers of its legs and of the feet on the ground, at most 1."""


def fit(templates: tuple[Template, ...], balls: Balls) -> Fit:
    """The cheapest embedding of a form's templates, one for each pose of its arms."""
    return min((_fit(points, balls) for points in templates), key=lambda found: found.cost)


def _fit(points: Template, balls: Balls) -> Fit:
    """Put each point into the ball that minimises the sum of all costs."""
    searched = np.array([k for k, name in enumerate(points.names) if not (balls.symmetric and "right" in name)])
    parents = tuple(
        int(np.searchsorted(searched, points.parents[k])) if points.parents[k] >= 0 else -1 for k in searched
    )
    # The mirror image of the left side costs as much as it does.
    twice = np.array([2.0 if balls.symmetric and "left" in points.names[k] else 1.0 for k in searched])
    frame = BodyFrame.around(balls.low, balls.high, points.form)
    local, size = frame.local(balls.centers), float((balls.high - balls.low).max())
    cost = twice[:, None] * _own_costs(points, balls, local, size)[searched]
    nearest = np.argsort(cost, axis=1, kind="stable")[:, :CANDIDATES]

    def bone(index: int) -> Float[np.ndarray, "parents children"]:
        k, here, above = int(searched[index]), nearest[index], nearest[parents[index]]
        straight = np.linalg.norm(balls.centers[here][None] - balls.centers[above][:, None], axis=2)
        detour = np.minimum((balls.paths[np.ix_(above, here)] - straight) / size, 1.0)
        wide = np.maximum(points.bone.spread[k], FLOOR)
        vectors = local[here][None] - local[above][:, None]
        unusual = _robust_sum(((vectors - points.bone.mean[k]) / wide) ** 2)
        return twice[index] * (BONE * unusual + OUTSIDE * detour)

    chosen, total = dynamic_program(parents, np.take_along_axis(cost, nearest, axis=1), bone)
    found = nearest[np.arange(len(searched)), chosen]
    places = np.zeros((len(points.names), 3))
    places[searched] = balls.centers[found]
    signs = _signs(points, balls, searched, found)
    _push_tips(points, places, searched, balls.radii[found])
    if balls.symmetric:
        places = mirrored(points.names, places, float(balls.low[0] + balls.high[0]) / 2)
    return Fit(points, places, total / float(twice.sum()), *signs)


def _signs(
    points: Template, balls: Balls, searched: Int[np.ndarray, "n"], found: Int[np.ndarray, "n"]
) -> tuple[float, float, float, float]:
    """Signs of a template that the body does not have: `unreached`, `thick`, `lifted` and `miscounted` of a `Fit`."""
    size, tall = float((balls.high - balls.low).max()), float(balls.high[1] - balls.low[1])
    ball = dict(zip(searched.tolist(), found.tolist()))
    ends = balls.ends
    to_end = balls.paths[:, ends].min(axis=1) if len(ends) else np.zeros(len(balls.radii))
    tips = [ball[k] for k in ball if points.is_reached[k]]
    unreached = float(np.mean(np.clip(to_end[tips] / (0.1 * size), 0, 1))) if tips else 0.0
    trunk = max((balls.radii[ball[k]] for k in ball if points.names[k] in TRUNK), default=float(balls.radii.max()))
    limbs = [ball[k] for k in ball if LIMB.search(points.names[k])]
    thick = float(np.mean(np.clip(balls.radii[limbs] / trunk - 0.5, 0, 0.4) / 0.4)) if limbs else 0.0
    legs = [ball[k] for k in ball if LEG_TIP.search(points.names[k])]
    height = (balls.centers[legs, 1] - balls.radii[legs] - balls.low[1]) / tall
    lifted = float(np.mean(np.clip((height - 0.04) / 0.1, 0, 1))) if legs else 0.0
    # What has no legs may lie on the ground with its belly.
    wanted = max(sum(bool(LEG_TIP.search(name)) for name in points.names), 1)
    miscounted = min(abs(wanted - len(balls.feet.tops)), 2) / 2
    return unreached, thick, lifted, miscounted


def _own_costs(
    points: Template, balls: Balls, local: Float[np.ndarray, "balls 3"], size: float
) -> Float[np.ndarray, "points balls"]:
    """How unusual each ball is as the place of each point, and how far from an end of the body as a tip."""
    ends, reached = balls.ends, points.is_reached
    to_end = balls.paths[:, ends].min(axis=1) if len(ends) else np.zeros(len(local))
    cost, tall = np.zeros((len(points.names), len(local))), float(balls.high[1] - balls.low[1])
    for k in range(len(points.names)):
        spread = np.maximum(points.place.spread[k], FLOOR)
        cost[k] = PLACE * _robust_sum(((local - points.place.mean[k]) / spread) ** 2)
        if reached[k]:
            cost[k] += TIP * _robust((np.minimum(to_end, 1e9) / (0.06 * size)) ** 2)
        if points.free[k]:
            # An arm that stands on the ground is a leg.
            cost[k] += STANDING * np.clip(1.5 - (balls.centers[:, 1] - balls.low[1]) / (0.1 * tall), 0, 1)
    return cost


def _push_tips(points: Template, places: Places, searched: Int[np.ndarray, "n"], radii: Float[np.ndarray, "n"]) -> None:
    """Tips lie on the far side of their ball."""
    for index, k in enumerate(searched):
        if points.is_end[k]:
            along = places[k] - places[points.parents[k]]
            places[k] += 0.7 * radii[index] * along / max(float(np.linalg.norm(along)), 1e-300)


def mirrored(names: tuple[str, ...], places: Places, middle: float) -> Places:
    """The places with the right side as the image of the left one, and the rest in the plane x = `middle`."""
    result = places.copy()
    for k, name in enumerate(names):
        if "right" in name:
            other = places[names.index(name.replace("right", "left"))]
            result[k] = [2 * middle - other[0], other[1], other[2]]
        elif "left" not in name:
            result[k, 0] = middle
    return result


def dynamic_program(
    parents: tuple[int, ...], cost: Float[np.ndarray, "points choices"], bone: Callable[[int], np.ndarray]
) -> tuple[Int[np.ndarray, "points"], float]:
    """The choice for each point with the least sum of `cost` and of `bone(k)` between each k and its parent."""
    total, best, chosen = cost.copy(), np.zeros(cost.shape, dtype=int), np.zeros(len(parents), dtype=int)
    # Parents come before children, so going backwards every point has all its children's costs.
    for k in range(len(parents) - 1, 0, -1):
        through = bone(k) + total[k]
        best[k] = through.argmin(axis=1)
        total[parents[k]] += through.min(axis=1)
    chosen[0] = int(total[0].argmin())
    for k in range(1, len(parents)):
        chosen[k] = best[k, chosen[parents[k]]]
    return chosen, float(total[0].min())


def _robust(squared: np.ndarray) -> np.ndarray:
    """Half the square near zero, growing like a logarithm: no single odd proportion decides."""
    return 2.0 * np.log1p(squared / 4.0)


def _robust_sum(squared: np.ndarray) -> np.ndarray:
    """The sum of `_robust` over the last axis, of length three, with one logarithm."""
    x, y, z = np.moveaxis(1.0 + squared / 4.0, -1, 0)
    return 2.0 * np.log(x * y * z)
