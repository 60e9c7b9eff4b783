"""Line segments that stay inside a mesh, as Pinocchio's distance field judges them.

The field is an octree over a cube of which the mesh fills 0.9, with exact signed distances at the corners of its cells
and trilinear interpolation in between; a cell is split while that errs by more than a tolerance. It overestimates the
distance at sharp convex vertices and so takes thin legs, ears and toes for hidden from their bones, as Pinocchio does.

`native/field` makes only the cells on a segment that decide anything: a distance changes by at most the length walked.
`distance_field_twin.py` is its slow twin. They agree for closed meshes that do not intersect themselves; elsewhere the
sign of the distance jumps, which the kernel's shortcuts do not expect: a few per cent of the segments differ.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from kinema.geometry.surface import Faces, Points, Vertices, sum_by_group

TOLERANCE = 0.003
"""Largest error of the interpolation at the middles of a cell's edges, faces and volume, in edges of the cube."""
SLACK = 0.002
"""How far a segment may leave the mesh, in edges of the cube."""
STEPS = 100
"""Points of a segment at which the field is evaluated; the last one is its end."""
FILLED = 0.9
"""Share of the cube's edge that the longest side of the mesh takes."""


@dataclass(frozen=True)
class Solid:
    """Triangles in the unit cube, with normals that point out of the solid.

    A point is inside or outside by the normal of the nearest face, edge or corner (Bærentzen and Aanæs, "Signed
    distance computation using the angle weighted pseudonormal"). Open meshes get the side that their normals say.
    """

    origin: Float[np.ndarray, "3"]
    edge: float
    """Edge of the cube [m]."""
    corners: Float[np.ndarray, "faces 3 3"]
    """In edges of the cube."""
    face_normals: Float[np.ndarray, "faces 3"]
    edge_normals: Float[np.ndarray, "faces 3 3"]
    """For each face's edges (0-1, 1-2, 2-0) the sum over the faces that share it."""
    corner_normals: Float[np.ndarray, "faces 3 3"]
    """For each face's corners the sum over the faces around it, weighted by their angle there."""

    @staticmethod
    def from_triangles(vertices: Vertices, faces: Faces) -> "Solid":
        """Vertices at one place must be one vertex, or the normals of edges and corners are not those of the solid."""
        low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
        edge = max(float((high - low).max()) / FILLED, 1e-300)
        origin = (low + high) / 2 - edge / 2
        corners = (vertices[faces] - origin) / edge
        to_next = np.roll(corners, -1, axis=1) - corners
        normals = _unit(np.cross(to_next[:, 0], to_next[:, 1]))
        ends = np.sort(np.stack((faces, np.roll(faces, -1, axis=1)), axis=2).reshape(-1, 2), axis=1)
        edges, edge_of = np.unique(ends[:, 0].astype(np.int64) * len(vertices) + ends[:, 1], return_inverse=True)
        to_next = _unit(to_next)
        angle = np.arccos(np.clip(-(to_next * np.roll(to_next, 1, axis=1)).sum(axis=2), -1, 1))
        at_edge = sum_by_group(edge_of.ravel(), np.repeat(normals, 3, axis=0), len(edges))
        weighted = (angle[..., None] * normals[:, None]).reshape(-1, 3)
        at_corner = sum_by_group(faces.ravel(), weighted, len(vertices))
        return Solid(origin, edge, corners, normals, at_edge[edge_of.reshape(-1, 3)], at_corner[faces])

    def in_cube(self, points: Points) -> Points:
        """World coordinates [m] in edges of the cube."""
        return (points - self.origin) / self.edge

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The triangles as the kernel takes them."""
        return {name: getattr(self, name) for name in ("corners", "face_normals", "edge_normals", "corner_normals")}


def segments_inside(solid: Solid, starts: Points, ends: Points) -> Bool[np.ndarray, "points"]:
    """True where the field is at most `SLACK` at every step from the start [m], itself left out, to the end."""
    try:
        from kinema import _field
    except ImportError as error:
        from kinema.geometry.distance_field_twin import segments_inside_twin

        warnings.warn(f"no native distance field ({error}); in numpy it takes a hundred times as long", stacklevel=4)
        return segments_inside_twin(solid, starts, ends)
    inside = np.zeros(len(starts), dtype=np.uint8)
    segments = {"from_points": solid.in_cube(starts), "to_points": solid.in_cube(ends)}
    _field.clear(**solid.arrays, **segments, tolerance=TOLERANCE, slack=SLACK, steps=STEPS, result=inside)
    return inside.astype(bool)


def exact_distances(solid: Solid, points: Points) -> Float[np.ndarray, "points"]:
    """Signed distances [m] to the surface, negative inside."""
    from kinema import _field

    result = np.zeros(len(points))
    _field.distances(**solid.arrays, points=solid.in_cube(points), result=result)
    return result * solid.edge


def _unit(vectors: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)
