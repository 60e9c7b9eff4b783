"""The inside of a triangle mesh, by winding numbers along rays in the three axes."""

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.geometry.surface import Faces, Points, Vertices

Vector = Float[np.ndarray, "3"]
Cells = Bool[np.ndarray, "x y z"]
Hits = Float[np.ndarray, "hits"]


def voxelize(vertices: Vertices, faces: Faces, *, cells: int) -> tuple[Cells, Vector, float]:
    """Cells of a grid, `cells` along its longest side, whose centre is inside; the grid's lower corner and step [m].

    Rays along the three axes vote, so that a hole in the surface or a face turned around does little harm. Parts that
    are open but close each other, like a body and its clothes, enclose what a flood from outside does not reach.
    """
    low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
    step = max(float((high - low).max()) / cells, 1e-300)
    count = np.maximum(1, np.ceil((high - low) / step)).astype(int)
    votes = np.zeros(count, dtype=np.int8)
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        # Off the centre by a hair, so that rays miss the edges of modelled symmetry.
        across = low[u] + step * (np.arange(count[u]) + 0.5013), low[v] + step * (np.arange(count[v]) + 0.4987)
        origins, rays, depths, turns = _crossings(vertices, faces, axis, across, low[axis] - step)
        first = np.clip(np.ceil((depths - low[axis]) / step - 0.5), 0, count[axis]).astype(int)
        winding = np.zeros((len(origins), count[axis] + 1))
        np.add.at(winding, (rays, first), turns)
        filled = (np.cumsum(winding, axis=1)[:, :-1] != 0).reshape(count[u], count[v], count[axis])
        votes += np.moveaxis(filled, (0, 1, 2), (u, v, axis))
    return (votes >= 2) | _enclosed(vertices, faces, low, step, count), low, step


def fill(vertices: Vertices, faces: Faces, axis: int, *, columns: int) -> tuple[Points, Float[np.ndarray, "points"]]:
    """Points that fill the inside along rays in one axis, `columns` of them across the longest side, and the volume
    that each stands for [m³]."""
    low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
    step = float((high - low).max()) / columns
    u, v = (axis + 1) % 3, (axis + 2) % 3
    # Cells tile the bounding box exactly; an odd place in them keeps rays off the edges of modelled symmetry.
    count = np.maximum(1, np.ceil((high - low) / step)).astype(int)
    cell = (high - low) / count
    across = low[u] + (np.arange(count[u]) + 0.4871) * cell[u], low[v] + (np.arange(count[v]) + 0.5123) * cell[v]
    origins, rays, depths, turns = _crossings(vertices, faces, axis, across, low[axis] - step)
    # The segment from one crossing to the next is inside where the winding number is not zero.
    index = np.flatnonzero(np.cumsum(turns))
    start, length = depths[index], depths[index + 1] - depths[index]
    pieces = np.maximum(1, np.ceil(length / step)).astype(int)
    which = np.repeat(np.arange(len(index)), pieces)
    place = np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    points = origins[rays[index][which]]
    points[:, axis] = start[which] + (place + 0.5) * (length / pieces)[which]
    return points, (length / pieces)[which] * cell[u] * cell[v]


def _crossings(
    vertices: Vertices, faces: Faces, axis: int, across: tuple[np.ndarray, np.ndarray], start: float
) -> tuple[Float[np.ndarray, "rays 3"], Int[np.ndarray, "hits"], Hits, Hits]:
    """Origins of a grid of rays along an axis; ray, coordinate and change of the winding number of each crossing.

    Crossings come in order of ray and coordinate. The changes along a ray sum to zero: a ray that does not leave the
    mesh again, having met a hole, tells nothing and is left out.
    """
    import trimesh

    u, v = (axis + 1) % 3, (axis + 2) % 3
    origins = np.full((len(across[0]) * len(across[1]), 3), start)
    origins[:, u], origins[:, v] = (grid.ravel() for grid in np.meshgrid(*across, indexing="ij"))
    solid = trimesh.Trimesh(vertices, faces, process=False)
    hit, rays, places = solid.ray.intersects_id(  # pyright: ignore[reportAssignmentType]
        origins, np.broadcast_to(np.eye(3)[axis], origins.shape), multiple_hits=True, return_locations=True
    )
    if len(rays) == 0:
        return origins, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    turns = -np.sign(np.cross(*np.diff(vertices[faces[hit]], axis=1).swapaxes(0, 1))[:, axis])
    order = np.lexsort((places[:, axis], rays))
    order = order[np.bincount(rays, turns)[rays[order]] == 0]
    return origins, rays[order], places[order, axis], turns[order]


def _enclosed(vertices: Vertices, faces: Faces, low: Vector, step: float, count: Int[np.ndarray, "3"]) -> Cells:
    """Cells off the surface that a flood from outside does not reach; gaps of up to two cells hold it back."""
    import trimesh
    from scipy.ndimage import binary_dilation, label

    points = trimesh.remesh.subdivide_to_size(vertices, faces, max_edge=0.9 * step, max_iter=30)[0]
    cell = np.clip(np.floor((points - low) / step).astype(int), 0, count - 1) + 2
    wall = np.zeros(count + 4, dtype=bool)
    wall[tuple(cell.T)] = True
    regions = np.asarray(label(np.logical_not(binary_dilation(wall)))[0])  # pyright: ignore[reportIndexIssue]
    outside = np.asarray(binary_dilation(regions == regions[0, 0, 0])) & ~wall
    return (~outside & ~wall)[2:-2, 2:-2, 2:-2]
