"""The slow twin of `native/field`: the whole field in numpy, with exact distances and no bounds."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.geometry.distance_field import SLACK, STEPS, TOLERANCE, Solid
from kinema.geometry.nearest import SurfaceTree
from kinema.geometry.surface import Points

DEEPEST = 10
"""Levels of the octree; the finest cells have an edge of 2^-10 of the cube."""


def segments_inside_twin(solid: Solid, starts: Points, ends: Points) -> Bool[np.ndarray, "points"]:
    """`segments_inside`, evaluating the field at every step."""
    distance = DistanceField(solid)
    starts, ends = solid.in_cube(starts), solid.in_cube(ends)
    inside, step = np.ones(len(starts), dtype=bool), (ends - starts) * (1 / STEPS)
    for k in range(1, STEPS + 1):
        inside[inside] = distance(starts[inside] + k * step[inside]) <= SLACK
    return inside


def exact_distances_twin(solid: Solid, points: Points) -> Float[np.ndarray, "points"]:
    """`exact_distances`, by a search over samples of the surface."""
    return _in_cube_distances(solid, _tree(solid), solid.in_cube(points)) * solid.edge


def _tree(solid: Solid) -> SurfaceTree:
    return SurfaceTree.from_triangles(solid.corners.reshape(-1, 3), np.arange(solid.corners.size // 3).reshape(-1, 3))


def _in_cube_distances(solid: Solid, tree: SurfaceTree, points: Points) -> Float[np.ndarray, "points"]:
    """Signed distances in the cube. The sign is the side of the normal of the nearest face, edge or corner."""
    near = tree.nearest(points)
    share, face = near.barycentric, near.face
    away = points - np.einsum("pk,pkx->px", share, solid.corners[face])
    normal, zero = solid.face_normals[face], share < 1e-9
    edge = zero.sum(axis=1) == 1
    # The edge opposite to corner k starts at corner k + 1.
    normal[edge] = solid.edge_normals[face[edge], (zero[edge].argmax(axis=1) + 1) % 3]
    corner = zero.sum(axis=1) == 2
    normal[corner] = solid.corner_normals[face[corner], share[corner].argmax(axis=1)]
    return np.linalg.norm(away, axis=1) * np.where((away * normal).sum(axis=1) < 0, -1, 1)


@dataclass
class DistanceField:
    """Pinocchio's approximation of the distance in the unit cube: cells of an octree, trilinear in each.

    A cell decides for itself whether it is split, so only cells with a query are made.
    """

    solid: Solid
    tolerance: float = TOLERANCE
    _tree: SurfaceTree = field(init=False)
    _known: dict[tuple[int, ...], float] = field(default_factory=dict)
    """Exact distances at lattice points."""

    def __post_init__(self) -> None:
        self._tree = _tree(self.solid)

    def __call__(self, points: Points) -> Float[np.ndarray, "points"]:
        """Interpolated signed distances."""
        at, result = np.clip(points, 0, 1), np.full(len(points), np.nan)
        undecided, crop = np.arange(len(points)), np.ones(len(points), dtype=bool)
        for level in range(DEEPEST + 1):
            # A point on the border of two cells belongs to the lower one.
            cell = np.clip(np.ceil(at[undecided] * (1 << level)).astype(np.int64) - 1, 0, (1 << level) - 1)
            cells, which = np.unique(cell, axis=0, return_inverse=True)
            which = which.ravel()
            lattice = self._lattice(cells, level)
            guess = lattice[:, ::2, ::2, ::2]
            for axis in (1, 2, 3):
                low, high = np.take(guess, [0], axis), np.take(guess, [1], axis)
                guess = np.concatenate((low, (low + high) / 2, high), axis)
            # Cells that err by more than the tolerance are split (the root always), those wholly outside cropped.
            errs = np.abs(guess - lattice).max(axis=(1, 2, 3)) > self.tolerance
            split = (errs | (level == 0)) & (level < DEEPEST)
            middle, reach = lattice[:, 1, 1, 1], (3**0.5) / 2 / (1 << level)
            cropped = (middle > reach) & (level > 0)
            # Cropping is inherited: a cell that lies deep inside turns it off below it.
            stop = ~split[which] | (crop[undecided] & cropped[which])
            done = undecided[stop]
            local = at[done] * (1 << level) - cell[stop]
            x, y, z = np.stack((1 - local, local), axis=1).T.swapaxes(1, 2)
            result[done] = np.einsum("pxyz,px,py,pz->p", lattice[which[stop]][:, ::2, ::2, ::2], x, y, z)
            crop[undecided] &= ~((middle < -reach)[which] & (level > 0))
            undecided = undecided[~stop]
            if len(undecided) == 0:
                break
        return result

    def _lattice(self, cells: Int[np.ndarray, "cells 3"], level: int) -> Float[np.ndarray, "cells 3 3 3"]:
        """Exact distances at the corners and middles of cells."""
        # Lattice coordinates count half edges of the finest cells.
        places = (2 * cells[:, None] + np.indices((3, 3, 3)).reshape(3, -1).T) << (DEEPEST - level)
        keys = [tuple(place) for place in places.reshape(-1, 3).tolist()]
        new = [*{key for key in keys if key not in self._known}]
        if new:
            distances = _in_cube_distances(self.solid, self._tree, np.array(new) / (2 << DEEPEST))
            self._known.update(zip(new, distances.tolist()))
        return np.array([self._known[key] for key in keys]).reshape(-1, 3, 3, 3)
