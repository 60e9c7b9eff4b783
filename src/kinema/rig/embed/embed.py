"""A skeleton for a mesh that has none: a template's joints are put into the balls that fill the mesh.

As in Pinocchio the embedding is discrete: every joint goes to the centre of a ball. The cost of a choice is how unusual
each joint's place and each bone is for the body plan, and how much longer than the bone the shortest path through the
inside is. Costs live on joints and bones only, so dynamic programming from the tips of the tree to its root finds the
best of all choices.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.geometry.rotations import children
from kinema.rig.embed.medial import Balls, pack_balls
from kinema.rig.embed.templates import BodyFrame, BodyPlan, Points, Template, template
from kinema.rig.weights.bone_heat import Visibility, rig_character

PLACE, BONE, OUTSIDE, TIP = 0.35, 1.0, 60.0, 1.0
"""Weights of the four costs: place, bone, detour through the inside, tips that do not reach an end of the body."""
OUTWARD = 4.0
"""Weight of steps of an arm that lead back to the body."""
FLOOR = 0.035
"""Least spread of places and bones: the built-in creatures vary less than modelled ones."""
SYMMETRIC = 0.02
"""Largest distance of the mirror image from a symmetric mesh, in lengths of its longest side."""


def auto_rig(character: Character, plan: BodyPlan | None = None, *, visibility: Visibility = "field") -> Character:
    """Give an unrigged character (facing +Z, standing on y = 0) a skeleton and bone heat weights."""
    return rig_character(character, embed_skeleton(character.mesh, plan), visibility=visibility)


def embed_skeleton(mesh: Mesh, plan: BodyPlan | None = None, *, of: Template | None = None) -> Skeleton:
    """Put the joints of a body plan (None: the one that fits better), or of a template `of`, into a mesh that faces +Z
    and stands on y = 0."""
    balls = pack_balls(mesh)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    candidates = (of,) if of else (template(plan),) if plan else (template("biped"), template("quadruped"))
    found = [_best_embedding(points, balls, BodyFrame.around(low, high, points.plan)) for points in candidates]
    best = int(np.argmin([cost for _, cost in found]))
    points, chosen = candidates[best], found[best][0]
    places = balls.centers[chosen].copy()
    # Tips lie on the far side of their ball.
    tips = np.flatnonzero(points.is_end)
    along = places[tips] - places[np.array(points.parents)[tips]]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    places[tips] += along * 0.7 * balls.radii[chosen[tips], None]
    if _is_symmetric(mesh):
        # Left and right become mirror images, the rest moves into the middle plane.
        other = [name.replace("left", "*").replace("right", "left").replace("*", "right") for name in points.names]
        places = (places + _mirror(places[[points.names.index(name) for name in other]], mesh)) / 2
    # Points become joints, but tips the tails of theirs.
    joints, below = np.flatnonzero(~points.is_end).tolist(), children(points.parents)
    tails = np.array([places[below[k]].mean(axis=0) for k in joints])
    parents = tuple(joints.index(points.parents[k]) if points.parents[k] >= 0 else -1 for k in joints)
    return Skeleton(tuple(points.names[k] for k in joints), parents, places[joints], tails)


def _best_embedding(points: Template, balls: Balls, frame: BodyFrame) -> tuple[Int[np.ndarray, "points"], float]:
    """The ball of each point that minimises the sum of all costs, and that sum per point."""
    local, ends, count = frame.local(balls.centers), balls.ends, len(points.names)
    cost = np.zeros((count, len(local)))
    to_end = balls.paths[:, ends].min(axis=1) if len(ends) else np.zeros(len(local))
    for k in range(count):
        spread = np.maximum(points.place.spread[k], FLOOR) * (2.5 if points.free[k] else 1.0)
        cost[k] = PLACE * _robust(((local - points.place.mean[k]) / spread) ** 2).sum(axis=1)
        if points.is_end[k]:
            cost[k] += TIP * _robust((np.minimum(to_end, 1e9) / (0.06 * float(frame.unit.max()))) ** 2)
    vectors = local[None] - local[:, None]
    straight = np.linalg.norm(balls.centers[None] - balls.centers[:, None], axis=2)
    detour = np.minimum((balls.paths - straight) / float(frame.unit.max()), 1.0)
    lengths = straight / float(frame.unit[1])
    # Along an arm every step should lead away from the middle of the body by as much as it is long.
    away = np.minimum(balls.paths[balls.middle], 1e9)
    inward = np.clip(1 - (away[None] - away[:, None]) / np.maximum(straight, 1e-9), 0, 2)

    def bone(k: int) -> Float[np.ndarray, "parents children"]:
        if points.free[k] and points.free[points.parents[k]]:
            spread = max(float(points.length.spread[k]), 0.25 * float(points.length.mean[k]))
            unusual = _robust(((lengths - points.length.mean[k]) / spread) ** 2) + OUTWARD * inward
        else:
            wide = np.maximum(points.bone.spread[k], FLOOR)
            unusual = _robust(((vectors - points.bone.mean[k]) / wide) ** 2).sum(axis=2)
        return BONE * unusual + OUTSIDE * detour

    chosen, total = _dynamic_program(points.parents, cost, bone)
    return chosen, total / count


def _dynamic_program(
    parents: tuple[int, ...], cost: Float[np.ndarray, "points balls"], bone: Callable[[int], np.ndarray]
) -> tuple[Int[np.ndarray, "points"], float]:
    """The choice of one ball per point with the least sum of `cost` and of `bone(k)` between each k and its parent."""
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


def _is_symmetric(mesh: Mesh) -> bool:
    """True if the mirror image lies on the mesh, but for a few vertices."""
    from scipy.spatial import KDTree

    gap = KDTree(mesh.vertices).query(_mirror(mesh.vertices, mesh))[0]
    return bool(np.quantile(gap, 0.9) < SYMMETRIC * float(np.ptp(mesh.vertices, axis=0).max()))


def _mirror(points: Points, mesh: Mesh) -> Points:
    """Points mirrored in the plane x = const through the middle of the mesh."""
    x = mesh.vertices[:, 0]
    return points * [-1.0, 1.0, 1.0] + [x.min() + x.max(), 0.0, 0.0]
