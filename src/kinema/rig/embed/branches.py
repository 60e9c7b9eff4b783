"""The branches of a body without a template: paths from its tips to its middle, through the thickest parts.

The farthest tip is joined to the middle by the path of least cost, where a step costs its length over the radius there;
balls near the path are covered; the farthest tip that is left is joined to the tree, and so on while a branch is longer
than about two of its radii (docs/rigging.md).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.rig.embed.medial import Balls

LONGER = 2.0
"""Least length of a branch beyond what it hangs on, in its own radii."""
LEAST = 0.09
"""Least length of a branch in lengths of the body's longest side."""
COVER = 1.4
"""A ball is covered by a path that comes within so many of its radii."""
LARGER = 1.5
"""Radius of a ball of the body in radii of a ball of the limb that hangs on it."""
MOST = 24
"""Branches of a body."""


@dataclass(frozen=True)
class Branch:
    """A path of balls from where it hangs on another (or the middle) to its tip."""

    balls: Int[np.ndarray, "path"]
    parent: int
    """Index of the branch that it hangs on; -1: the middle."""
    length: float
    """Along the path, outside of what it hangs on [m]."""


def find_branches(balls: Balls) -> list[Branch]:
    """All branches, the farthest first."""
    from scipy.sparse.csgraph import dijkstra

    far = balls.paths[balls.middle]
    alive = np.isfinite(far)
    links = balls.links.tocoo()
    # The radius of a step is the mean of its ends: the path keeps to the middle of the limb.
    links.data = links.data / ((balls.radii[links.row] + balls.radii[links.col]) / 2) ** 1.5
    links = links.tocsr()
    size = float((balls.high - balls.low).max())
    owner = np.full(len(far), -2)
    owner[balls.middle] = -1
    covered = ~alive | _near(balls, np.array([balls.middle]))
    branches: list[Branch] = []
    while len(branches) < MOST and not covered.all():
        tip = int(np.where(covered, -np.inf, far).argmax())
        tree = np.flatnonzero(owner > -2)
        _, before, _ = dijkstra(links, directed=False, indices=tree, min_only=True, return_predecessors=True)
        path = [tip]
        while before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
        path = np.array(path[::-1])
        root = path[0]
        steps = np.linalg.norm(np.diff(balls.centers[path], axis=0, prepend=balls.centers[path[:1]]), axis=1)
        outside = _is_outside(balls, path)
        length = float(steps[outside].sum() + balls.radii[tip])
        thick = float(np.quantile(balls.radii[path[outside]], 0.75)) if outside.any() else np.inf
        if length < max(LONGER * thick, LEAST * size):
            # A bump: what lies near its tip is no tip either.
            covered |= _near(balls, path[-1:]) | (balls.paths[tip] < LEAST * size)
            continue
        branches.append(Branch(path, int(owner[root]), length))
        owner[path[1:]] = len(branches) - 1
        covered |= _near(balls, path)
    return branches


def _is_outside(balls: Balls, path: Int[np.ndarray, "path"]) -> Bool[np.ndarray, "path"]:
    """Balls of a path whose centres lie in no ball of much larger radius: in the limb, not in what it hangs on."""
    gap = np.linalg.norm(balls.centers[path][:, None] - balls.centers[None], axis=2) - balls.radii
    return ~((gap < 0) & (balls.radii > LARGER * balls.radii[path][:, None])).any(axis=1)


def _near(balls: Balls, path: Int[np.ndarray, "path"]) -> Bool[np.ndarray, "balls"]:
    gap = np.linalg.norm(balls.centers[:, None] - balls.centers[path][None], axis=2)
    return (gap < COVER * balls.radii[path]).any(axis=1)


def smooth_path(points: Float[np.ndarray, "points 3"], radii: Float[np.ndarray, "points"]) -> Float[np.ndarray, "n 4"]:
    """A path resampled evenly and smoothed, with its radius as the fourth column; the ends stay."""
    from scipy.ndimage import gaussian_filter1d

    rows = np.column_stack((points, radii))
    along = np.concatenate(([0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
    even = np.linspace(0, along[-1], 60)
    line = np.column_stack([np.interp(even, along, rows[:, k]) for k in range(4)])
    smooth = gaussian_filter1d(line, 3.0, axis=0, mode="nearest")
    fade = np.minimum(1.0, np.minimum(np.arange(60), np.arange(59, -1, -1)) / 8.0)[:, None]
    return fade * smooth + (1 - fade) * line


def outside(balls: Balls, branch: Branch) -> Float[np.ndarray, "n 4"]:
    """The path of a branch from where it leaves the ball that it hangs on, to the surface beyond its tip."""
    line = smooth_path(balls.centers[branch.balls], balls.radii[branch.balls])
    gap = np.linalg.norm(line[:, :3] - balls.centers[branch.balls[0]], axis=1)
    inside = gap < 0.7 * balls.radii[branch.balls[0]]
    start = min(int(np.flatnonzero(inside)[-1]) if inside.any() else 0, len(line) - 8)
    away = line[-1, :3] - line[-8, :3]
    end = line[-1].copy()
    end[:3] += 0.8 * balls.radii[branch.balls[-1]] * away / max(float(np.linalg.norm(away)), 1e-300)
    return np.concatenate((line[start:], end[None]))


def cut(line: Float[np.ndarray, "n 4"], count: int) -> Float[np.ndarray, "joints 4"]:
    """Joints of a smoothed path: its start and `count` - 1 more, evenly, drawn to bends and places that are thin."""
    total = len(line)
    if count <= 1:
        return line[:1]
    ahead, behind = line[np.minimum(np.arange(total) + 6, total - 1), :3], line[np.maximum(np.arange(total) - 6, 0), :3]
    u, v = ahead - line[:, :3], line[:, :3] - behind
    norms = np.maximum(np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1), 1e-300)
    bend = 1 - (u * v).sum(axis=1) / norms
    thin = 1 - line[:, 3] / max(float(line[:, 3].max()), 1e-300)
    places, last = [0], 0
    for k in range(1, count):
        even, room = k * (total - 1) / count, 0.3 * (total - 1) / count
        near = np.arange(max(last + 2, int(even - room)), max(last + 3, int(even + room) + 1))
        near = near[near < total - 1]
        if len(near) == 0:
            break
        score = 2 * bend[near] + 0.5 * thin[near] - 0.5 * ((near - even) / max(room, 1.0)) ** 2
        last = int(near[score.argmax()])
        places.append(last)
    return line[places]
