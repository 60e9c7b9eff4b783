"""Triangle surfaces: areas, normals and points on them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from kinema.errors import KinemaError

Vertices = Float[np.ndarray, "vertices 3"]
Faces = Int[np.ndarray, "faces 3"]
Points = Float[np.ndarray, "points 3"]
Values = Float[np.ndarray, "vertices channels"]
PerFace = Float[np.ndarray, "faces"]


@dataclass(frozen=True)
class SurfacePoints:
    """Points on a mesh as face and barycentric coordinates; they stay on their faces when the mesh deforms."""

    face: Int[np.ndarray, "points"]
    barycentric: Float[np.ndarray, "points 3"]
    """Rows sum to one."""

    def interpolate(self, faces: Faces, values: Values) -> Float[np.ndarray, "points channels"]:
        """Per-vertex values (positions, weights, colours) at the points."""
        corners, b = faces[self.face], self.barycentric
        return b[:, :1] * values[corners[:, 0]] + b[:, 1:2] * values[corners[:, 1]] + b[:, 2:] * values[corners[:, 2]]

    def __getitem__(self, index: Int[np.ndarray, "chosen"]) -> "SurfacePoints":
        return SurfacePoints(self.face[index], self.barycentric[index])

    def __len__(self) -> int:
        return len(self.face)


def face_areas_normals(vertices: Vertices, faces: Faces) -> tuple[PerFace, Float[np.ndarray, "faces 3"]]:
    """Areas [m²] and unit normals; a degenerate face has area 0 and normal 0."""
    a, b, c = (vertices[faces[:, k]].astype(np.float64) for k in range(3))
    cross = np.cross(b - a, c - a)
    double = np.linalg.norm(cross, axis=-1)
    return double / 2, cross / np.maximum(double, 1e-300)[:, None]


def sum_by_group(
    group: Int[np.ndarray, "items"], values: Float[np.ndarray, "items channels"], count: int
) -> Float[np.ndarray, "count channels"]:
    """Sum of the rows of each group, such as of the faces around each vertex."""
    return np.stack([np.bincount(group, column, count) for column in values.T], axis=1, dtype=np.float64)


def sample_surface(
    vertices: Vertices, faces: Faces, count: int, *, rng: np.random.Generator, weight: PerFace | None = None
) -> SurfacePoints:
    """`count` points by area times `weight`: each face gets its share within one, in a low-discrepancy pattern."""
    if count < 1:
        raise KinemaError(f"cannot sample {count} points of a surface")
    area, _ = face_areas_normals(vertices, faces)
    edges = np.cumsum(area if weight is None else area * weight)
    if len(edges) == 0 or not np.isfinite(edges[-1]) or edges[-1] <= 0:
        raise KinemaError(f"the mesh has no surface to sample ({len(faces)} faces without area)")
    # Systematic sampling of the cumulated area gives every face its share rounded up or down.
    places = (np.arange(count) + rng.random()) * (edges[-1] / count)
    face = np.minimum(np.searchsorted(edges, places, side="right"), len(edges) - 1)
    # Roberts' R2 sequence, folded from the square into the triangle.
    index = np.arange(count)[:, None] + rng.integers(1 << 16)
    u, v = np.mod(0.5 + index * np.array([0.7548776662466927, 0.5698402909980532]), 1.0).T
    over = u + v > 1
    u, v = np.where(over, 1 - u, u), np.where(over, 1 - v, v)
    return SurfacePoints(face, np.stack((1 - u - v, u, v), -1))


def vertex_normals(vertices: Vertices, faces: Faces) -> Vertices:
    """Unit normals, faces weighted by area; +Y for vertices of no face."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    cross = np.cross(b - a, c - a)
    normal = np.sum([sum_by_group(corner, cross, len(vertices)) for corner in faces.T], axis=0)
    length = np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.where(length > 1e-20, normal / np.maximum(length, 1e-20), [0.0, 1.0, 0.0])
