"""Points on a triangle mesh: even sampling, colour, normal, and the nearest point of a surface."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.character import Mesh
from kinema.errors import KinemaError


@dataclass(frozen=True)
class SurfacePoints:
    """Places on a mesh that stay where they are when it deforms."""

    face: Int[np.ndarray, "points"]
    barycentric: Float[np.ndarray, "points 3"]
    """Rows sum to one."""

    def interpolate(
        self, faces: Int[np.ndarray, "faces 3"], values: Float[np.ndarray, "vertices channels"]
    ) -> Float[np.ndarray, "points channels"]:
        """Per-vertex values (positions, weights, colours) at the points."""
        corners = faces[self.face]
        b = self.barycentric
        return b[:, :1] * values[corners[:, 0]] + b[:, 1:2] * values[corners[:, 1]] + b[:, 2:] * values[corners[:, 2]]

    def __getitem__(self, index: Int[np.ndarray, "chosen"]) -> "SurfacePoints":
        return SurfacePoints(self.face[index], self.barycentric[index])

    def __len__(self) -> int:
        return len(self.face)


def face_areas_normals(
    vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]
) -> tuple[Float[np.ndarray, "faces"], Float[np.ndarray, "faces 3"]]:
    """Areas [m²] and unit normals; a degenerate face has area 0 and normal 0."""
    a, b, c = (vertices[faces[:, k]].astype(np.float64) for k in range(3))
    cross = np.cross(b - a, c - a)
    double = np.linalg.norm(cross, axis=-1)
    return double / 2, cross / np.maximum(double, 1e-30)[:, None]


def sample_surface(
    mesh: Mesh, count: int, *, rng: np.random.Generator, weight: Float[np.ndarray, "faces"] | None = None
) -> SurfacePoints:
    """`count` area-weighted points: each face gets its share within one, and inside it a low-discrepancy pattern.

    `weight` makes the points denser on some faces than on others.
    """
    if count < 1:
        raise KinemaError(f"cannot sample {count} points of a surface")
    area, _ = face_areas_normals(mesh.vertices, mesh.faces)
    edges = np.cumsum(area if weight is None else area * weight)
    if len(edges) == 0 or not np.isfinite(edges[-1]) or edges[-1] <= 0:
        raise KinemaError(f"the mesh has no surface to sample ({len(mesh.faces)} faces without area)")
    # Systematic sampling of the cumulated area gives every face its share rounded up or down.
    places = (np.arange(count) + rng.random()) * (edges[-1] / count)
    face = np.minimum(np.searchsorted(edges, places, side="right"), len(edges) - 1)
    # Roberts' R2 sequence, folded from the square into the triangle.
    index = np.arange(count)[:, None] + rng.integers(1 << 16)
    u, v = np.mod(0.5 + index * np.array([0.7548776662466927, 0.5698402909980532]), 1.0).T
    over = u + v > 1
    u, v = np.where(over, 1 - u, u), np.where(over, 1 - v, v)
    return SurfacePoints(face, np.stack((1 - u - v, u, v), -1))


def visibility(mesh: Mesh, *, rays: int = 24) -> Float[np.ndarray, "faces"]:
    """Share of the directions, on both sides of a face's middle, from which it can be seen at rest."""
    tracer = ray_tracer(mesh.vertices, mesh.faces)
    _, normal = face_areas_normals(mesh.vertices, mesh.faces)
    middle = mesh.vertices[mesh.faces].mean(1)
    lift = 1e-4 * float(np.ptp(mesh.vertices, axis=0).max())
    # Directions on a spiral, evenly over the sphere.
    k = np.arange(rays) + 0.5
    y, turn = 1 - 2 * k / rays, k * np.pi * (3 - np.sqrt(5))
    free = np.zeros(len(middle))
    for direction in np.stack((np.sqrt(1 - y * y) * np.cos(turn), y, np.sqrt(1 - y * y) * np.sin(turn)), -1):
        side = np.where(normal @ direction < 0, -lift, lift)[:, None]
        origin = (middle + side * normal).astype(np.float32)
        free += tracer.run(origin, np.tile(direction.astype(np.float32), (len(middle), 1))) < 0
    return free / rays


def ray_tracer(vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> Any:
    """An embree scene of one mesh."""
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    scene = EmbreeScene()
    TriangleMesh(scene, np.ascontiguousarray(vertices, np.float32), np.ascontiguousarray(faces, np.int32))
    return scene


def surface_colors(mesh: Mesh, points: SurfacePoints) -> Float[np.ndarray, "points 4"]:
    """sRGB and coverage in [0, 1]: vertex colour times the bilinearly read texture, without any light."""
    rgba = np.ones((len(points), 4))
    rgba[:, :3] = points.interpolate(mesh.faces, mesh.colors.astype(np.float64))
    if mesh.uv is None or mesh.face_texture is None:
        return rgba
    uv = points.interpolate(mesh.faces, mesh.uv.astype(np.float64))
    texture_of = mesh.face_texture[points.face]
    for number, texture in enumerate(mesh.textures):
        here = np.flatnonzero(texture_of == number)
        if len(here):
            rgba[here] *= read_texture(texture, uv[here])
    return rgba


def read_texture(texture: np.ndarray, uv: Float[np.ndarray, "points 2"]) -> Float[np.ndarray, "points 4"]:
    """Bilinear, repeating; (0, 0) is the top left corner of the top left texel."""
    height, width = texture.shape[:2]
    x, y = uv[:, 0] * width - 0.5, uv[:, 1] * height - 0.5
    x0, y0 = np.floor(x), np.floor(y)
    fx, fy = (x - x0)[:, None], (y - y0)[:, None]
    left, top = x0.astype(np.int64) % width, y0.astype(np.int64) % height
    right, below = (left + 1) % width, (top + 1) % height
    upper = texture[top, left] * (1 - fx) + texture[top, right] * fx
    lower = texture[below, left] * (1 - fx) + texture[below, right] * fx
    return (upper * (1 - fy) + lower * fy) / 255.0


def nearest_surface(mesh: Mesh, points: Float[np.ndarray, "points 3"]) -> SurfacePoints:
    """The closest point of the mesh to each of `points`.

    Every face carries a grid of samples that leaves no point of it farther than `radius` from one. So the faces of
    the k nearest samples hold the closest point as soon as it is nearer than the k-th sample minus `radius`.
    """
    from scipy.spatial import KDTree
    from trimesh.triangles import closest_point, points_to_barycentric

    if len(mesh.faces) == 0:
        raise KinemaError("the mesh has no faces to be near to")
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    sample, owner, radius = _face_grids(corners)
    tree = KDTree(sample)
    face = np.zeros(len(points), dtype=np.int64)
    place = np.zeros((len(points), 3))
    open_, k = np.arange(len(points)), min(8, len(sample))
    while len(open_):
        far, index = tree.query(points[open_], k=k, workers=2)
        far, index = np.reshape(far, (len(open_), k)), np.reshape(index, (len(open_), k))
        candidate = owner[index]
        target = np.repeat(points[open_], k, axis=0)
        closest = closest_point(corners[candidate.ravel()], target)
        distance = np.linalg.norm(closest - target, axis=-1).reshape(-1, k)
        best = distance.argmin(-1)
        row = np.arange(len(open_))
        face[open_], place[open_] = candidate[row, best], closest.reshape(-1, k, 3)[row, best]
        open_ = open_[(distance[row, best] > far[:, -1] - radius) & (k < len(sample))]
        k = min(4 * k, len(sample))
    barycentric = points_to_barycentric(corners[face], place)
    # A degenerate face has no barycentric coordinates: its corners are as near as each other.
    barycentric = np.where(np.isfinite(barycentric).all(-1, keepdims=True), barycentric, [1.0, 0.0, 0.0])
    barycentric = np.clip(barycentric, 0.0, 1.0)
    return SurfacePoints(face, barycentric / barycentric.sum(-1, keepdims=True))


def _face_grids(
    corners: Float[np.ndarray, "faces 3 3"], *, budget: int = 20_000
) -> tuple[Float[np.ndarray, "samples 3"], Int[np.ndarray, "samples"], float]:
    """Samples, their faces, and how far a point of a face can be from its nearest sample."""
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(-1)
    spacing = max(float(np.sqrt((longest**2).sum() / budget)), 1e-30)
    cuts = np.maximum(np.ceil(longest / spacing), 1).astype(np.int64)
    samples, owners = [], []
    for n in np.unique(cuts):
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        inside = i + j <= n
        grid = np.stack((n - i[inside] - j[inside], i[inside], j[inside]), -1) / n
        here = np.flatnonzero(cuts == n)
        samples.append(np.einsum("gk,fkd->fgd", grid, corners[here]).reshape(-1, 3))
        owners.append(np.repeat(here, len(grid)))
    # No point of a triangle is farther than (longest edge) / sqrt 3 from the nearest corner.
    return np.concatenate(samples), np.concatenate(owners), float((longest / cuts).max() / np.sqrt(3))
