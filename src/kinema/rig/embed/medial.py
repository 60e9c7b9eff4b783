"""The inside of a mesh as balls: voxels, their distance to the surface, and a graph of balls that touch."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.asset.character import Mesh
from kinema.errors import KinemaError


@dataclass(frozen=True)
class Balls:
    """Balls that fill the inside, the largest first, and how they hang together."""

    centers: Float[np.ndarray, "balls 3"]
    radii: Float[np.ndarray, "balls"]
    paths: Float[np.ndarray, "balls balls"]
    """Length of the shortest way from centre to centre through balls that overlap [m]; infinite between parts."""

    @property
    def middle(self) -> int:
        """The largest ball of the part that has most balls."""
        return int(np.isfinite(self.paths).sum(axis=1).argmax())

    @property
    def ends(self) -> Int[np.ndarray, "ends"]:
        """Tips of the body: balls that no nearby ball surpasses in distance from the middle of the largest part."""
        far = self.paths[self.middle]
        reach = 0.08 * float(np.ptp(self.centers, axis=0).max())
        near = self.paths < np.maximum(reach, 2 * self.radii)[:, None]
        highest = np.where(near & np.isfinite(far), far, -np.inf).max(axis=1)
        return np.flatnonzero(np.isfinite(far) & (far >= highest) & (far > reach))


def pack_balls(mesh: Mesh, *, cells: int = 110, most: int = 900) -> Balls:
    """Fill a mesh with balls whose centres lie where the surface is farthest.

    Args:
        cells: Voxels along the longest side.
        most: Stop after so many balls; they come in the order of their size.
    """
    from scipy.ndimage import distance_transform_edt
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra
    from scipy.spatial import KDTree

    if len(mesh.faces) == 0 or not np.isfinite(mesh.vertices).all():
        raise KinemaError("a skeleton needs a mesh with triangles and finite vertices to lie in")
    inside, low, step = voxelize(mesh, cells=cells)
    # Half a cell from the last centre inside to the surface.
    depth = np.asarray(distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1, 1:-1]
    places = np.argwhere(inside)
    if len(places) == 0:
        raise KinemaError("the mesh encloses no volume, so no skeleton fits inside")
    radius = depth[tuple(places.T)] - 0.5
    order = np.argsort(-radius, kind="stable")
    places, radius = places[order], np.maximum(radius[order], 0.5)
    tree = KDTree(places)
    free = np.ones(len(places), dtype=bool)
    chosen = []
    for i in range(len(places)):
        if not free[i]:
            continue
        chosen.append(i)
        if len(chosen) == most:
            break
        near = np.array(tree.query_ball_point(places[i], 1.1 * radius[i] + 0.5))
        gap = np.linalg.norm(places[near] - places[i], axis=1)
        # Take away what lies deep inside this ball, and the thin rest between it and the surface.
        free[near[(gap <= max(0.6 * radius[i], 1.0)) | (radius[near] < 0.5 * radius[i])]] = False
    centers, radii = places[chosen].astype(np.float64), radius[chosen]
    a, b, gap = _touching(centers, radii)
    graph = csr_array((np.r_[gap, gap], (np.r_[a, b], np.r_[b, a])), shape=(len(chosen), len(chosen)))
    paths = np.asarray(dijkstra(graph, directed=False))
    return Balls(low + step * (centers + 0.5), radii * step, paths * step)


def _touching(
    centers: Float[np.ndarray, "balls 3"], radii: Float[np.ndarray, "balls"]
) -> tuple[Int[np.ndarray, "pairs"], Int[np.ndarray, "pairs"], Float[np.ndarray, "pairs"]]:
    """Pairs of balls that overlap: the segment between their centres lies inside of the two."""
    gap = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    a, b = np.nonzero(np.triu(gap <= radii[:, None] + radii[None] + 1.5, k=1))
    return a, b, gap[a, b]


def voxelize(mesh: Mesh, *, cells: int) -> tuple[Bool[np.ndarray, "x y z"], Float[np.ndarray, "3"], float]:
    """Which cells of a grid have their centre inside the mesh; lower corner and edge of the grid [m].

    Rays along the three axes vote, so that a hole in the surface or a face turned around does little harm. Parts that
    are open but close each other, like a body and its clothes, hold what cannot be reached from outside.
    """
    low, high = mesh.vertices.min(axis=0).astype(np.float64), mesh.vertices.max(axis=0).astype(np.float64)
    step = max(float((high - low).max()) / cells, 1e-300)
    count = np.maximum(1, np.ceil((high - low) / step)).astype(int)
    votes = np.zeros(count, dtype=np.int8)
    for axis in range(3):
        votes += _filled_along(mesh, axis, low, step, count)
    return (votes >= 2) | _enclosed(mesh, low, step, count), low, step


def _enclosed(
    mesh: Mesh, low: Float[np.ndarray, "3"], step: float, count: Int[np.ndarray, "3"]
) -> Bool[np.ndarray, "x y z"]:
    """Cells off the surface that a flood from outside does not reach; gaps of up to two cells hold it back."""
    import trimesh
    from scipy.ndimage import binary_dilation, label

    points = trimesh.remesh.subdivide_to_size(mesh.vertices, mesh.faces, max_edge=0.9 * step, max_iter=30)[0]
    cell = np.clip(np.floor((points - low) / step).astype(int), 0, count - 1) + 2
    wall = np.zeros(count + 4, dtype=bool)
    wall[tuple(cell.T)] = True
    regions = np.asarray(label(np.logical_not(binary_dilation(wall)))[0])  # pyright: ignore[reportIndexIssue]
    outside = np.asarray(binary_dilation(regions == regions[0, 0, 0])) & ~wall
    return (~outside & ~wall)[2:-2, 2:-2, 2:-2]


def _filled_along(
    mesh: Mesh, axis: int, low: Float[np.ndarray, "3"], step: float, count: Int[np.ndarray, "3"]
) -> Bool[np.ndarray, "x y z"]:
    """Cells inside by the winding number along rays through their centres."""
    import trimesh

    u, v = (axis + 1) % 3, (axis + 2) % 3
    grid = np.stack(np.meshgrid(np.arange(count[u]), np.arange(count[v]), indexing="ij"), axis=-1).reshape(-1, 2)
    origins = np.zeros((len(grid), 3))
    # Off the centre by a hair, so that rays miss the edges of modelled symmetry.
    origins[:, u] = low[u] + step * (grid[:, 0] + 0.5013)
    origins[:, v] = low[v] + step * (grid[:, 1] + 0.4987)
    origins[:, axis] = low[axis] - step
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    direction = np.broadcast_to(np.eye(3)[axis], origins.shape)
    faces, rays, hits = solid.ray.intersects_id(  # pyright: ignore[reportAssignmentType]
        origins, direction, multiple_hits=True, return_locations=True
    )
    turns = np.zeros((len(grid), count[axis] + 1))
    if len(rays):
        corners = mesh.vertices[mesh.faces[faces]]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, axis]
        first = np.clip(np.ceil((hits[:, axis] - low[axis]) / step - 0.5), 0, count[axis]).astype(int)
        np.add.at(turns, (rays, first), -np.sign(normal))
        # A ray that does not come out again tells nothing.
        turns[np.bincount(rays, -np.sign(normal), minlength=len(grid)) != 0] = 0
    filled = (np.cumsum(turns, axis=1)[:, :-1] != 0).reshape(count[u], count[v], count[axis])
    return np.moveaxis(filled, (0, 1, 2), (u, v, axis))
