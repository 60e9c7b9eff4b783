"""Nearest points on a surface, and weights carried over from there to arbitrary points."""

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.character import Mesh
from kinema.errors import KinemaError


@dataclass(frozen=True)
class SurfacePoints:
    """Points on a mesh: a face and the shares of its three corners."""

    faces: Int[np.ndarray, "points"]
    barycentric: Float[np.ndarray, "points 3"]
    """Non-negative, rows sum to one."""
    positions: Float[np.ndarray, "points 3"]
    """In the world [m]."""
    distances: Float[np.ndarray, "points"]
    """To the points that were asked for [m]."""

    def interpolate(
        self, mesh: Mesh, values: Float[np.ndarray, "vertices channels"]
    ) -> Float[np.ndarray, "points channels"]:
        """Vertex values at the points."""
        corners = mesh.faces[self.faces]
        result = self.barycentric[:, :1] * values[corners[:, 0]]
        for k in (1, 2):
            result = result + self.barycentric[:, k : k + 1] * values[corners[:, k]]
        return result


def transfer_weights(
    mesh: Mesh, weights: Float[np.ndarray, "vertices joints"], points: Float[np.ndarray, "points 3"]
) -> Float[np.ndarray, "points joints"]:
    """Weights of the nearest surface point of each point, interpolated within its triangle; rows sum to one."""
    moved = nearest_on_surface(mesh, points).interpolate(mesh, weights)
    return moved / np.maximum(moved.sum(axis=1, keepdims=True), 1e-30)


def nearest_on_surface(mesh: Mesh, points: Float[np.ndarray, "points 3"]) -> SurfacePoints:
    """The nearest surface point of each point, exactly."""
    return SurfaceTree.from_mesh(mesh).nearest(points)


@dataclass(frozen=True)
class SurfaceTree:
    """A mesh made ready for many queries.

    Large faces are cut until all pieces have a radius of at most R. If some piece is at distance d of a point then the
    nearest one has its centre within d + R, which a tree of centres answers quickly.
    """

    mesh: Mesh
    pieces: Float[np.ndarray, "pieces 3 3"]
    face_of_piece: Int[np.ndarray, "pieces"]
    centers: Any
    """A scipy KDTree of the pieces' centres."""
    radii: Float[np.ndarray, "pieces"]

    @staticmethod
    def from_mesh(mesh: Mesh) -> "SurfaceTree":
        from scipy.spatial import KDTree

        if len(mesh.faces) == 0:
            raise KinemaError("the mesh has no faces, so nothing is nearest")
        pieces, face_of_piece = _small_pieces(mesh)
        centers = pieces.mean(axis=1)
        radii = np.linalg.norm(pieces - centers[:, None], axis=2).max(axis=1)
        return SurfaceTree(mesh, pieces, face_of_piece, KDTree(centers), radii)

    def nearest(self, points: Float[np.ndarray, "points 3"], *, chunk: int = 4096) -> SurfacePoints:
        """The nearest surface point of each point."""
        some = min(4, len(self.pieces))
        face, near, distance = np.zeros(len(points), dtype=int), np.zeros((len(points), 3)), np.zeros(len(points))
        for start in range(0, len(points), chunk):
            these = points[start : start + chunk].astype(np.float64)
            guess = self.centers.query(these, k=some)[1].reshape(len(these), some)
            _, squared = _nearest_in_triangle(np.repeat(these, some, axis=0), self.pieces[guess.ravel()])
            bound = np.sqrt(squared.reshape(-1, some).min(axis=1))
            found = self.centers.query_ball_point(these, (bound + self.radii.max()) * (1 + 1e-9))
            counts = np.fromiter(map(len, found), dtype=int, count=len(these))
            pieces = np.fromiter(chain.from_iterable(found), dtype=int, count=int(counts.sum()))
            owner = np.repeat(np.arange(len(these)), counts)
            # Most of these pieces are smaller than the largest: their own radius rules them out.
            reach = np.linalg.norm(these[owner] - self.centers.data[pieces], axis=1) - self.radii[pieces]
            near_enough = reach <= bound[owner] * (1 + 1e-9)
            owner, pieces = owner[near_enough], pieces[near_enough]
            counts = np.bincount(owner, minlength=len(these))
            place, squared = _nearest_in_triangle(these[owner], self.pieces[pieces])
            # The first of each group after sorting by (point, distance).
            order = np.lexsort((squared, owner))
            best = order[np.cumsum(counts) - counts]
            at = slice(start, start + len(these))
            face[at], near[at], distance[at] = self.face_of_piece[pieces[best]], place[best], np.sqrt(squared[best])
        share = _barycentric(near, self.mesh.vertices[self.mesh.faces[face]].astype(np.float64))
        return SurfacePoints(face, share, near, distance)


def _small_pieces(mesh: Mesh) -> tuple[Float[np.ndarray, "pieces 3 3"], Int[np.ndarray, "pieces"]]:
    """Faces, the large ones cut at their longest edges, and the face that each piece comes from."""
    triangles, parent = mesh.vertices[mesh.faces].astype(np.float64), np.arange(len(mesh.faces))
    # About as many pieces as faces, and never less than a few thousand: the root of the mean area is the scale.
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1) / 2
    target = max(2 * float(np.sqrt(area.sum() / max(len(triangles), 2000))), 1e-12)
    for _ in range(40):
        edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
        longest = edges.argmax(axis=1)
        large = edges.max(axis=1) > target
        if not large.any() or len(triangles) > 20 * len(mesh.faces) + 40_000:
            break
        rows = np.arange(int(large.sum()))
        a, b, c = (triangles[large][rows, (longest[large] + k) % 3] for k in range(3))
        middle = (a + b) / 2
        halves = np.concatenate((np.stack((a, middle, c), axis=1), np.stack((middle, b, c), axis=1)))
        triangles = np.concatenate((triangles[~large], halves))
        parent = np.concatenate((parent[~large], parent[large], parent[large]))
    return triangles, parent


def _nearest_in_triangle(
    points: Float[np.ndarray, "pairs 3"], triangles: Float[np.ndarray, "pairs 3 3"]
) -> tuple[Float[np.ndarray, "pairs 3"], Float[np.ndarray, "pairs"]]:
    """The nearest point of each triangle and its squared distance: the foot of the plane or of one of three edges."""
    share = _barycentric_of_foot(points, triangles)
    inside = (share >= 0).all(axis=1)
    best = np.einsum("pk,pkx->px", share, triangles)
    squared = np.where(inside, ((points - best) ** 2).sum(axis=1), np.inf)
    for k in range(3):
        a, ab = triangles[:, k], triangles[:, (k + 1) % 3] - triangles[:, k]
        t = ((points - a) * ab).sum(axis=1) / np.maximum((ab * ab).sum(axis=1), 1e-300)
        place = a + np.clip(t, 0, 1)[:, None] * ab
        here = ((points - place) ** 2).sum(axis=1)
        nearer = here < squared
        best = np.where(nearer[:, None], place, best)
        squared = np.where(nearer, here, squared)
    return best, squared


def _barycentric_of_foot(
    points: Float[np.ndarray, "pairs 3"], triangles: Float[np.ndarray, "pairs 3 3"]
) -> Float[np.ndarray, "pairs 3"]:
    """Barycentric coordinates of the foot in the triangle's plane; not a number counts as outside for slivers."""
    ab, ac, ap = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0], points - triangles[:, 0]
    bb, bc, cc = (ab * ab).sum(axis=1), (ab * ac).sum(axis=1), (ac * ac).sum(axis=1)
    pb, pc = (ap * ab).sum(axis=1), (ap * ac).sum(axis=1)
    determinant = bb * cc - bc * bc
    flat = determinant <= 1e-14 * bb * cc
    determinant = np.where(flat, 1.0, determinant)
    v = np.where(flat, -1.0, (cc * pb - bc * pc) / determinant)
    w = np.where(flat, -1.0, (bb * pc - bc * pb) / determinant)
    return np.stack((1 - v - w, v, w), axis=1)


def _barycentric(
    points: Float[np.ndarray, "points 3"], triangles: Float[np.ndarray, "points 3 3"]
) -> Float[np.ndarray, "points 3"]:
    """Barycentric coordinates of points that lie on their triangles, made non-negative with sum one."""
    share = _barycentric_of_foot(points, triangles)
    sliver = (share[:, 1] == -1) & (share[:, 2] == -1)
    if sliver.any():
        # A triangle without area is its longest edge.
        rows = np.flatnonzero(sliver)
        edges = np.linalg.norm(np.roll(triangles[rows], -1, axis=1) - triangles[rows], axis=2)
        k = edges.argmax(axis=1)
        n = np.arange(len(rows))
        a, ab = triangles[rows, k], triangles[rows, (k + 1) % 3] - triangles[rows, k]
        t = np.clip(((points[rows] - a) * ab).sum(axis=1) / np.maximum((ab * ab).sum(axis=1), 1e-300), 0, 1)
        edge_share = np.zeros((len(rows), 3))
        edge_share[n, k], edge_share[n, (k + 1) % 3] = 1 - t, t
        share[rows] = edge_share
    share = np.clip(share, 0, None)
    return share / share.sum(axis=1, keepdims=True)
