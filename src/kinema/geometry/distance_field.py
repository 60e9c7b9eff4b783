"""Whether the inside of a mesh holds the way between two points, as Pinocchio decides it.

Pinocchio does not ask the mesh but a distance field: an octree over a cube of which the mesh fills 0.9, with exact
signed distances at the corners of its cells and trilinear interpolation in between. A cell is split while that errs by
more than a tolerance. The field is not the distance: it overestimates it at sharp convex vertices, and so takes thin
legs, ears and toes for hidden from their bones. Weights that are to be Pinocchio's need the same field.

`native/field` makes the cells that lie on a way, and only as far as they decide anything: a distance changes by at
most the way walked, so most need not be known. `distance_field_twin.py` says the same in numpy, without haste. They
agree for closed meshes that do not run through themselves; elsewhere the sign of the distance jumps, which the kernel's
shortcuts do not expect, and a few per cent of the ways are judged differently.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.asset.character import Mesh

TOLERANCE = 0.003
"""Largest error of the interpolation at the middles of a cell's edges, faces and volume, in edges of the cube."""
SLACK = 0.002
"""How far a way may leave the mesh, in edges of the cube."""
STEPS = 100
"""Places on a way at which the field is asked; the last one is its end."""
FILLED = 0.9
"""Share of the cube's edge that the longest side of the mesh takes."""


@dataclass(frozen=True)
class Solid:
    """Triangles in the unit cube, with the normals on whose negative side the inside lies.

    The side of a point is that of the nearest face, edge or corner (Bærentzen and Aanæs, "Signed distance computation
    using the angle weighted pseudonormal"). Open meshes get the side that their normals say.
    """

    origin: Float[np.ndarray, "3"]
    edge: float
    """Of the cube [m]."""
    corners: Float[np.ndarray, "faces 3 3"]
    """In edges of the cube."""
    face_normals: Float[np.ndarray, "faces 3"]
    edge_normals: Float[np.ndarray, "faces 3 3"]
    """Of each face's edges (0-1, 1-2, 2-0): the sum over the faces that share it."""
    corner_normals: Float[np.ndarray, "faces 3 3"]
    """Of each face's corners: the sum over the faces around it, weighted by their angle there."""

    @staticmethod
    def from_mesh(mesh: Mesh) -> "Solid":
        """Vertices at one place must be one vertex, or the normals of edges and corners are not those of the solid."""
        low, high = mesh.vertices.min(axis=0).astype(np.float64), mesh.vertices.max(axis=0).astype(np.float64)
        edge = max(float((high - low).max()) / FILLED, 1e-300)
        origin = (low + high) / 2 - edge / 2
        corners = (mesh.vertices[mesh.faces] - origin) / edge
        to_next = np.roll(corners, -1, axis=1) - corners
        normals = _unit(np.cross(to_next[:, 0], to_next[:, 1]))
        ends = np.sort(np.stack((mesh.faces, np.roll(mesh.faces, -1, axis=1)), axis=2).reshape(-1, 2), axis=1)
        _, side = np.unique(ends[:, 0].astype(np.int64) * len(mesh.vertices) + ends[:, 1], return_inverse=True)
        to_next = _unit(to_next)
        angle = np.arccos(np.clip(-(to_next * np.roll(to_next, 1, axis=1)).sum(axis=2), -1, 1))
        at_edge = _sum_by(side.ravel(), np.repeat(normals, 3, axis=0))
        at_corner = _sum_by(mesh.faces.ravel(), (angle[..., None] * normals[:, None]).reshape(-1, 3))
        return Solid(origin, edge, corners, normals, at_edge[side.ravel()].reshape(-1, 3, 3), at_corner[mesh.faces])

    def in_cube(self, points: Float[np.ndarray, "points 3"]) -> Float[np.ndarray, "points 3"]:
        """World coordinates [m] in edges of the cube."""
        return (points - self.origin) / self.edge


def clear_ways(
    solid: Solid, starts: Float[np.ndarray, "ways 3"], ends: Float[np.ndarray, "ways 3"]
) -> Bool[np.ndarray, "ways"]:
    """Whether the field is at most `SLACK` at every step from the start [m], itself left out, to the end."""
    try:
        from kinema import _field
    except ImportError as error:
        from kinema.geometry.distance_field_twin import clear_ways_twin

        warnings.warn(f"no native distance field ({error}); in numpy it takes a hundred times as long", stacklevel=4)
        return clear_ways_twin(solid, starts, ends)
    clear = np.zeros(len(starts), dtype=np.uint8)
    ways = {"from_points": solid.in_cube(starts), "to_points": solid.in_cube(ends)}
    _field.clear(**_arrays(solid), **ways, tolerance=TOLERANCE, slack=SLACK, steps=STEPS, result=clear)
    return clear.astype(bool)


def exact_distances(solid: Solid, points: Float[np.ndarray, "points 3"]) -> Float[np.ndarray, "points"]:
    """Signed distances [m] to the surface, negative inside."""
    from kinema import _field

    result = np.zeros(len(points))
    _field.distances(**_arrays(solid), points=solid.in_cube(points), result=result)
    return result * solid.edge


def _arrays(solid: Solid) -> dict[str, np.ndarray]:
    return {name: getattr(solid, name) for name in ("corners", "face_normals", "edge_normals", "corner_normals")}


def _unit(vectors: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)


def _sum_by(index: Int[np.ndarray, "items"], values: Float[np.ndarray, "items 3"]) -> Float[np.ndarray, "groups 3"]:
    return np.stack([np.bincount(index, values[:, k]) for k in range(3)], axis=1)
