"""The nearest point of a triangle surface to any point, exactly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from kinema.errors import KinemaError
from kinema.geometry.surface import Faces, Points, SurfacePoints, Vertices

PIECES = 4_000
"""Least number of pieces, about, into which the faces are cut."""
PAIRS = 1 << 21
"""Points times candidate faces that are compared at once."""


@dataclass(frozen=True)
class SurfaceTree:
    """Triangles prepared for nearest-point queries.

    Large faces are cut into pieces no point of which is farther than `radius` from the piece's centre. So the k nearest
    pieces hold the nearest point as soon as it is nearer than the k-th centre minus `radius`.
    """

    corners: Float[np.ndarray, "faces 3 3"]
    centers: Any
    """A scipy KDTree of the pieces."""
    face_of_piece: Int[np.ndarray, "pieces"]
    radius: float

    @staticmethod
    def from_triangles(vertices: Vertices, faces: Faces) -> "SurfaceTree":
        from scipy.spatial import KDTree
        from trimesh.remesh import subdivide_to_size

        if len(faces) == 0:
            raise KinemaError("the mesh has no faces to be near to")
        corners = vertices[faces].astype(np.float64)
        longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(-1)
        edge = max(float(np.sqrt((longest**2).sum() / PIECES)), 1e-30)
        cut = subdivide_to_size(vertices, faces, edge, max_iter=40, return_index=True)
        points, pieces, face_of_piece = cut  # pyright: ignore[reportAssignmentType]
        pieces = points[pieces]
        centers = pieces.mean(axis=1)
        radius = float(np.linalg.norm(pieces - centers[:, None], axis=-1).max())
        return SurfaceTree(corners, KDTree(centers), face_of_piece, radius)

    def nearest(self, points: Points) -> SurfacePoints:
        """The nearest surface point of each point."""
        points = points.astype(np.float64)
        face, barycentric = np.zeros(len(points), dtype=np.int64), np.zeros((len(points), 3))
        undecided, k = np.arange(len(points)), min(8, self.centers.n)
        while len(undecided):
            later = []
            for rows in np.array_split(undecided, -(-len(undecided) * k // PAIRS)):
                reach, index = self.centers.query(points[rows], k=[*range(1, k + 1)], workers=2)
                candidates = self.face_of_piece[index]
                targets = np.repeat(points[rows], k, axis=0)
                share, squared = nearest_in_triangles(targets, self.corners[candidates.ravel()])
                squared = squared.reshape(-1, k)
                best = squared.argmin(-1, keepdims=True)
                face[rows] = np.take_along_axis(candidates, best, 1)[:, 0]
                barycentric[rows] = np.take_along_axis(share.reshape(-1, k, 3), best[..., None], 1)[:, 0]
                later.append(rows[(np.sqrt(squared.min(-1)) > reach[:, -1] - self.radius) & (k < self.centers.n)])
            undecided, k = np.concatenate(later), min(4 * k, self.centers.n)
        return SurfacePoints(face, barycentric)


def nearest_in_triangles(
    points: Float[np.ndarray, "pairs 3"], triangles: Float[np.ndarray, "pairs 3 3"]
) -> tuple[Float[np.ndarray, "pairs 3"], Float[np.ndarray, "pairs"]]:
    """Barycentric coordinates of each triangle's nearest point, and its squared distance.

    It is the projection onto the plane, if that lies inside, or onto one of the edges; a sliver has only edges.
    """
    ab, ac, ap = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0], points - triangles[:, 0]
    bb, bc, cc = (ab * ab).sum(axis=1), (ab * ac).sum(axis=1), (ac * ac).sum(axis=1)
    pb, pc = (ap * ab).sum(axis=1), (ap * ac).sum(axis=1)
    determinant = bb * cc - bc * bc
    sliver = determinant <= 1e-14 * bb * cc
    v, w = np.array((cc * pb - bc * pc, bb * pc - bc * pb)) / np.where(sliver, 1.0, determinant)
    share = np.stack((1 - v - w, v, w), axis=1)
    squared = ((points - np.einsum("pk,pkx->px", share, triangles)) ** 2).sum(axis=1)
    squared[sliver | (share < 0).any(axis=1)] = np.inf
    for k in range(3):
        a, ab = triangles[:, k], triangles[:, (k + 1) % 3] - triangles[:, k]
        t = np.clip(((points - a) * ab).sum(axis=1) / np.maximum((ab * ab).sum(axis=1), 1e-300), 0, 1)
        here = ((points - a - t[:, None] * ab) ** 2).sum(axis=1)
        nearer = here < squared
        on_edge = np.zeros((int(nearer.sum()), 3))
        on_edge[:, k], on_edge[:, (k + 1) % 3] = 1 - t[nearer], t[nearer]
        share[nearer], squared[nearer] = on_edge, here[nearer]
    return share, squared
