"""Signed distance to a mesh: exactly, and in an octree of trilinear cells that is refined where it is asked."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.asset.character import Mesh
from kinema.rig.transfer import SurfaceTree

DEEPEST = 10
"""Levels of the octree; the finest cells have an edge of 2^-10 of the box."""
BITS = DEEPEST + 2
"""Lattice coordinates, centres of the finest cells included, have this many bits per axis."""


@dataclass(frozen=True)
class SignedDistance:
    """Exact distance to a triangle mesh, negative inside. Open meshes get the side that their normals say."""

    surface: SurfaceTree
    face_normals: Float[np.ndarray, "faces 3"]
    edge_normals: Float[np.ndarray, "faces 3 3"]
    """Of each face's edges (0-1, 1-2, 2-0): the sum over the faces that share it."""
    vertex_normals: Float[np.ndarray, "faces 3 3"]
    """Of each face's corners: the sum over the faces around it, weighted by their angle there."""

    @staticmethod
    def from_mesh(mesh: Mesh) -> "SignedDistance":
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        ends = np.stack((mesh.faces, np.roll(mesh.faces, -1, axis=1)), axis=2).reshape(-1, 2)
        _, edge = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
        at_edge = _sum_by(edge.ravel(), np.repeat(normals, 3, axis=0))
        to_next = np.roll(corners, -1, axis=1) - corners
        to_next /= np.maximum(np.linalg.norm(to_next, axis=2, keepdims=True), 1e-300)
        angle = np.arccos(np.clip(-(to_next * np.roll(to_next, 1, axis=1)).sum(axis=2), -1, 1))
        at_vertex = _sum_by(mesh.faces.ravel(), (angle[..., None] * normals[:, None]).reshape(-1, 3))
        return SignedDistance(
            SurfaceTree.from_mesh(mesh),
            normals,
            at_edge[edge.ravel()].reshape(-1, 3, 3),
            at_vertex[mesh.faces],
        )

    def __call__(self, points: Float[np.ndarray, "points 3"]) -> Float[np.ndarray, "points"]:
        """Distances [m]. The sign is the side of the pseudonormal of the nearest face, edge or corner."""
        near = self.surface.nearest(points)
        share, face = near.barycentric, near.faces
        normal = self.face_normals[face]
        zero = share < 1e-9
        edge = zero.sum(axis=1) == 1
        # The edge opposite to corner k starts at corner k + 1.
        normal[edge] = self.edge_normals[face[edge], (zero[edge].argmax(axis=1) + 1) % 3]
        corner = zero.sum(axis=1) == 2
        normal[corner] = self.vertex_normals[face[corner], share[corner].argmax(axis=1)]
        outward = ((points - near.positions) * normal).sum(axis=1)
        return np.where(outward < 0, -near.distances, near.distances)


def _sum_by(index: Int[np.ndarray, "items"], values: Float[np.ndarray, "items 3"]) -> Float[np.ndarray, "groups 3"]:
    return np.stack([np.bincount(index, values[:, k]) for k in range(3)], axis=1)


@dataclass
class DistanceField:
    """Pinocchio's approximation of the distance: cells of an octree over the unit cube, trilinear in each.

    A cell is split while its interpolation errs by more than `tolerance` at the middles of its edges, faces or volume.
    Whether a cell is split depends on that cell alone, so only cells that hold a query are ever looked at.
    """

    exact: SignedDistance
    origin: Float[np.ndarray, "3"]
    edge: float
    """Edge length of the cube [m]; all that follows is in units of it."""
    tolerance: float = 0.003
    _keys: Int[np.ndarray, "known"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _values: Float[np.ndarray, "known"] = field(default_factory=lambda: np.zeros(0))

    @staticmethod
    def around(mesh: Mesh, *, tolerance: float = 0.003) -> "DistanceField":
        """The mesh fills 0.9 of the cube along its longest side, centred."""
        low, high = mesh.vertices.min(axis=0).astype(np.float64), mesh.vertices.max(axis=0).astype(np.float64)
        edge = max(float((high - low).max()) / 0.9, 1e-12)
        return DistanceField(SignedDistance.from_mesh(mesh), (low + high) / 2 - edge / 2, edge, tolerance)

    def __call__(self, points: Float[np.ndarray, "points 3"]) -> Float[np.ndarray, "points"]:
        """Interpolated signed distances, in edges of the cube."""
        at = np.clip((points - self.origin) / self.edge, 0, 1)
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
        """Exact distances at the corners and middles of cells, in edges of the cube."""
        step = 1 << (BITS - 2 - level)
        offsets = np.stack(np.meshgrid(*(np.arange(3),) * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        places = (2 * _unkey(cells)[:, None] + offsets) * step
        keys = _key(places.reshape(-1, 3))
        wanted, which = np.unique(keys, return_inverse=True)
        new = np.setdiff1d(wanted, self._keys, assume_unique=True)
        if len(new):
            spots = self.origin + self.edge * _unkey(new) / (1 << (BITS - 1))
            values = np.concatenate((self._values, self.exact(spots) / self.edge))
            merged = np.concatenate((self._keys, new))
            order = np.argsort(merged)
            self._keys, self._values = merged[order], values[order]
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
