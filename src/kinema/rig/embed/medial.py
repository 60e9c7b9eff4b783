"""The inside of a mesh as balls: voxels, their distance to the surface, and a graph of balls that touch."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.asset.character import Mesh
from kinema.errors import KinemaError
from kinema.geometry.inside import voxelize
from kinema.rig.embed.feet import Feet, find_feet

SLACK = 0.3
"""Share of a ball's radius by which another may stick out of it and still be left out: corners are no limbs."""

STEEP = 0.65
"""Growth of the depth per length of way from which on a cell is not medial; towards the edge of a box it is 0.71."""


@dataclass(frozen=True)
class Balls:
    """Balls that fill the inside, the largest first, and the paths between them."""

    centers: Float[np.ndarray, "balls 3"]
    radii: Float[np.ndarray, "balls"]
    paths: Float[np.ndarray, "balls balls"]
    """Length of the shortest path from centre to centre through balls that overlap, or from part to part [m]."""
    low: Float[np.ndarray, "3"]
    """Lower corner of the mesh's box [m]."""
    high: Float[np.ndarray, "3"]
    links: Any
    """Distances between the centres of balls that overlap [m], as a sparse matrix of scipy's."""
    feet: Feet
    """What stands on the ground."""
    symmetric: bool = False
    """Is every ball's mirror image among them?"""

    @cached_property
    def middle(self) -> int:
        """The largest ball of the trunk: thick, and not far from all others."""
        far = np.median(self.paths, axis=1)
        return int((self.radii / self.radii.max() - 2.0 * far / max(float(far.max()), 1e-300)).argmax())

    @cached_property
    def ends(self) -> Int[np.ndarray, "ends"]:
        """Tips of the body: balls that no nearby ball surpasses in distance from the middle."""
        far = self.paths[self.middle]
        reach = 0.08 * float(np.ptp(self.centers, axis=0).max())
        near = self.paths < np.maximum(reach, 2 * self.radii)[:, None]
        highest = np.where(near, far, -np.inf).max(axis=1)
        return np.flatnonzero((far >= highest) & (far > reach))


def pack_balls(mesh: Mesh, *, symmetric: bool = False, medial: bool = True, cells: int = 110, most: int = 600) -> Balls:
    """Fill a mesh, cut into `cells` voxels along its longest side, with at most `most` balls, the largest first.

    Args:
        symmetric: the mesh is its own mirror image; its left half is filled with what either side has, and mirrored.
        medial: balls on the medial axis only, for skeletons; without it they fill the volume up to its surface.
    """
    from scipy.ndimage import distance_transform_edt
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra
    from scipy.spatial import KDTree

    if len(mesh.faces) == 0 or not np.isfinite(mesh.vertices).all():
        raise KinemaError("a skeleton needs a mesh with triangles and finite vertices to lie in")
    corners = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    inside, low, step = voxelize(mesh.vertices, mesh.faces, cells=cells)
    middle = float((corners[0][0] + corners[1][0]) / 2 - low[0]) / step - 0.5
    if symmetric:
        columns = np.arange(len(inside))
        inside = inside | inside[np.clip(np.rint(2 * middle - columns).astype(int), 0, len(inside) - 1)]
    depth = np.asarray(distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1, 1:-1]
    places = np.argwhere(inside & _is_medial(depth) if medial else inside)
    if len(places) == 0:
        raise KinemaError("the mesh encloses no volume, so no skeleton fits inside")
    # Half a cell from the last centre inside to the surface.
    radius = np.maximum(depth[tuple(places.T)] - 0.5, 0.5)
    if symmetric:
        places, radius = places[left := places[:, 0] > middle - 0.5], radius[left]
    order = np.argsort(-radius, kind="stable")
    places, radius = places[order], radius[order]
    tree, free, chosen, count = KDTree(places), np.ones(len(places), dtype=bool), [], 0
    while count < most and free.any():
        chosen.append(i := int(free.argmax()))
        count += 2 if symmetric and places[i, 0] > middle + 0.5 else 1
        reach = max(1.1 * radius[i] + 0.5, radius[i] + 1.5 if medial else 2.2)
        near = np.array(tree.query_ball_point(places[i], reach))
        gap = np.linalg.norm(places[near] - places[i], axis=1)
        # Take away what is near this centre, balls that all but lie within this one, and the thin rest between it and
        # the surface.
        within = radius[near] < 0.5 * radius[i]
        if medial:
            within |= gap + radius[near] <= (1 + SLACK) * radius[i] + 0.7
        free[near[(gap <= max(0.6 * radius[i], 2.2)) | within]] = False
    centers, radii = places[chosen].astype(np.float64), radius[chosen]
    if symmetric:
        aside = centers[:, 0] > middle + 0.5
        centers[~aside, 0] = middle
        centers = np.concatenate((centers, centers[aside] * [-1.0, 1, 1] + [2 * middle, 0, 0]))
        radii = np.concatenate((radii, radii[aside]))
        order = np.argsort(-radii, kind="stable")
        centers, radii = centers[order], radii[order]
    gap = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    # The segment between the centres of two balls that overlap lies inside of the two.
    clearance = gap - radii[:, None] - radii[None]
    overlap = _joined(clearance <= 1.5, clearance)
    links = csr_array(np.where(overlap, gap, 0.0))
    paths = np.asarray(dijkstra(links, directed=False))
    feet = find_feet(inside, low, step)
    return Balls(low + step * (centers + 0.5), radii * step, paths * step, *corners, links * step, feet, symmetric)


def _is_medial(depth: Float[np.ndarray, "x y z"]) -> Bool[np.ndarray, "x y z"]:
    """Cells towards no neighbour of which the depth grows nearly as fast as the way there: the others lie between the
    medial ones and the surface."""
    padded, medial, count = np.pad(depth, 2), np.ones(depth.shape, dtype=bool), np.array(depth.shape)
    for way in np.argwhere(np.ones((3, 3, 3))) - 1:
        x, y, z = (slice(2 + 2 * w, 2 + 2 * w + n) for w, n in zip(way, count))
        medial &= padded[x, y, z] - depth < STEEP * max(2 * float(np.linalg.norm(way)), 1e-9)
    return medial


def _joined(linked: Bool[np.ndarray, "balls balls"], clearance: Float[np.ndarray, "balls balls"]) -> np.ndarray:
    """The links, and one more from each part that touches no other (of a robot, of a toy) to the nearest ball."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    linked = linked.copy()
    count, part = connected_components(csr_array(linked), directed=False)
    main = np.bincount(part).argmax()
    for _ in range(count - 1):
        inner, outer = np.flatnonzero(part == main), np.flatnonzero(part != main)
        i, j = np.unravel_index(clearance[np.ix_(inner, outer)].argmin(), (len(inner), len(outer)))
        linked[inner[i], outer[j]] = linked[outer[j], inner[i]] = True
        part[part == part[outer[j]]] = main
    return linked
