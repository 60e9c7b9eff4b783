"""The slow twin of `native/field`: exact distances by a search over centres, and the field itself, never a bound."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.asset.character import Mesh
from kinema.geometry.distance_field import SLACK, STEPS, TOLERANCE, Solid
from kinema.rig.transfer import SurfaceTree

DEEPEST = 10
"""Levels of the octree; the finest cells have an edge of 2^-10 of the cube."""
BITS = DEEPEST + 2
"""Lattice coordinates, centres of the finest cells included, have this many bits per axis."""


def clear_ways_twin(
    solid: Solid, starts: Float[np.ndarray, "ways 3"], ends: Float[np.ndarray, "ways 3"]
) -> Bool[np.ndarray, "ways"]:
    """As `clear_ways`, asking the field at every step."""
    distance = DistanceField(solid)
    starts, ends = solid.in_cube(starts), solid.in_cube(ends)
    clear, step = np.ones(len(starts), dtype=bool), (ends - starts) * (1 / STEPS)
    for k in range(1, STEPS + 1):
        clear[clear] = distance(starts[clear] + k * step[clear]) <= SLACK
    return clear


def exact_distances_twin(solid: Solid, points: Float[np.ndarray, "points 3"]) -> Float[np.ndarray, "points"]:
    """As `exact_distances`."""
    return _in_cube_distances(solid, _tree(solid), solid.in_cube(points)) * solid.edge


def _tree(solid: Solid) -> SurfaceTree:
    corners = solid.corners.reshape(-1, 3)
    return SurfaceTree.from_mesh(Mesh(corners, np.arange(len(corners)).reshape(-1, 3), np.ones_like(corners)))


def _in_cube_distances(
    solid: Solid, tree: SurfaceTree, points: Float[np.ndarray, "points 3"]
) -> Float[np.ndarray, "points"]:
    """Of points in the cube. The sign is the side of the pseudonormal of the nearest face, edge or corner."""
    near = tree.nearest(points)
    share, face = near.barycentric, near.faces
    normal = solid.face_normals[face]
    zero = share < 1e-9
    edge = zero.sum(axis=1) == 1
    # The edge opposite to corner k starts at corner k + 1.
    normal[edge] = solid.edge_normals[face[edge], (zero[edge].argmax(axis=1) + 1) % 3]
    corner = zero.sum(axis=1) == 2
    normal[corner] = solid.corner_normals[face[corner], share[corner].argmax(axis=1)]
    outward = ((points - near.positions) * normal).sum(axis=1)
    return np.where(outward < 0, -near.distances, near.distances)


@dataclass
class DistanceField:
    """Pinocchio's approximation of the distance: cells of an octree over the unit cube, trilinear in each.

    Whether a cell is split depends on that cell alone, so only cells that hold a query are ever looked at. All lengths
    are edges of the cube.
    """

    solid: Solid
    tolerance: float = TOLERANCE
    _tree: SurfaceTree = field(init=False)
    _keys: Int[np.ndarray, "known"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _values: Float[np.ndarray, "known"] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self._tree = _tree(self.solid)

    def __call__(self, points: Float[np.ndarray, "points 3"]) -> Float[np.ndarray, "points"]:
        """Interpolated signed distances."""
        at = np.clip(points, 0, 1)
        result = np.full(len(points), np.nan)
        open_points, crop = np.arange(len(points)), np.ones(len(points), dtype=bool)
        for level in range(DEEPEST + 1):
            # A point on the border of two cells belongs to the lower one.
            cell = np.clip(np.ceil(at[open_points] * (1 << level)).astype(np.int64) - 1, 0, (1 << level) - 1)
            cells, which = np.unique(_key(cell), return_inverse=True)
            which = which.ravel()
            lattice = self._lattice(cells, level)
            split, cropped = self._split(lattice, level)
            # Cropping is inherited: a cell that lies deep inside turns it off below it.
            stop = ~split[which] | (crop[open_points] & cropped[which])
            done = open_points[stop]
            local = at[done] * (1 << level) - cell[stop]
            result[done] = _trilinear(lattice[which[stop]][:, ::2, ::2, ::2], local)
            deep = lattice[:, 1, 1, 1] < -(3**0.5) / 2 / (1 << level)
            crop[open_points] &= ~(deep[which] & (level > 0))
            open_points = open_points[~stop]
            if len(open_points) == 0:
                break
        return result

    def _split(
        self, lattice: Float[np.ndarray, "cells 3 3 3"], level: int
    ) -> tuple[Bool[np.ndarray, "cells"], Bool[np.ndarray, "cells"]]:
        """Which cells err by more than the tolerance, and which lie wholly outside."""
        count = len(lattice)
        if level == 0:
            return np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
        outside = lattice[:, 1, 1, 1] > (3**0.5) / 2 / (1 << level)
        if level == DEEPEST:
            return np.zeros(count, dtype=bool), outside
        guess = lattice[:, ::2, ::2, ::2]
        for axis in (1, 2, 3):
            low, high = np.take(guess, [0], axis), np.take(guess, [1], axis)
            guess = np.concatenate((low, (low + high) / 2, high), axis)
        return np.abs(guess - lattice).max(axis=(1, 2, 3)) > self.tolerance, outside

    def _lattice(self, cells: Int[np.ndarray, "cells"], level: int) -> Float[np.ndarray, "cells 3 3 3"]:
        """Exact distances at the corners and middles of cells."""
        step = 1 << (BITS - 2 - level)
        offsets = np.stack(np.meshgrid(*(np.arange(3),) * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        places = (2 * _unkey(cells)[:, None] + offsets) * step
        wanted, which = np.unique(_key(places.reshape(-1, 3)), return_inverse=True)
        new = np.setdiff1d(wanted, self._keys, assume_unique=True)
        if len(new):
            values = _in_cube_distances(self.solid, self._tree, _unkey(new) / (1 << (BITS - 1)))
            merged = np.concatenate((self._keys, new))
            order = np.argsort(merged)
            self._keys, self._values = merged[order], np.concatenate((self._values, values))[order]
        found = self._values[np.searchsorted(self._keys, wanted)]
        return found[which.ravel()].reshape(-1, 3, 3, 3)


def _key(cell: Int[np.ndarray, "*n 3"]) -> Int[np.ndarray, "*n"]:
    return (cell[..., 0] << (2 * BITS)) | (cell[..., 1] << BITS) | cell[..., 2]


def _unkey(key: Int[np.ndarray, "n"]) -> Int[np.ndarray, "n 3"]:
    mask = (1 << BITS) - 1
    return np.stack((key >> (2 * BITS), (key >> BITS) & mask, key & mask), axis=1)


def _trilinear(
    corners: Float[np.ndarray, "points 2 2 2"], local: Float[np.ndarray, "points 3"]
) -> Float[np.ndarray, "points"]:
    x, y, z = local[:, 0], local[:, 1], local[:, 2]
    plane = corners[:, 0] + x[:, None, None] * (corners[:, 1] - corners[:, 0])
    line = plane[:, 0] + y[:, None] * (plane[:, 1] - plane[:, 0])
    return line[:, 0] + z * (line[:, 1] - line[:, 0])
