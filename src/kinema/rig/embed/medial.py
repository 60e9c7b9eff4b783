"""The inside of a mesh as balls: voxels, their distance to the surface, and a graph of balls that touch."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.character import Mesh
from kinema.errors import KinemaError
from kinema.geometry.inside import voxelize


@dataclass(frozen=True)
class Balls:
    """Balls that fill the inside, the largest first, and the paths between them."""

    centers: Float[np.ndarray, "balls 3"]
    radii: Float[np.ndarray, "balls"]
    paths: Float[np.ndarray, "balls balls"]
    """Length of the shortest path from centre to centre through balls that overlap [m]; infinite between parts."""

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
    """Fill a mesh, cut into `cells` voxels along its longest side, with at most `most` balls, the largest first."""
    from scipy.ndimage import distance_transform_edt
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra
    from scipy.spatial import KDTree

    if len(mesh.faces) == 0 or not np.isfinite(mesh.vertices).all():
        raise KinemaError("a skeleton needs a mesh with triangles and finite vertices to lie in")
    inside, low, step = voxelize(mesh.vertices, mesh.faces, cells=cells)
    depth = np.asarray(distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1, 1:-1]
    places = np.argwhere(inside)
    if len(places) == 0:
        raise KinemaError("the mesh encloses no volume, so no skeleton fits inside")
    # Half a cell from the last centre inside to the surface.
    radius = depth[tuple(places.T)] - 0.5
    order = np.argsort(-radius, kind="stable")
    places, radius = places[order], np.maximum(radius[order], 0.5)
    tree, free, chosen = KDTree(places), np.ones(len(places), dtype=bool), []
    while len(chosen) < most and free.any():
        chosen.append(i := int(free.argmax()))
        near = np.array(tree.query_ball_point(places[i], 1.1 * radius[i] + 0.5))
        gap = np.linalg.norm(places[near] - places[i], axis=1)
        # Take away what lies deep inside this ball, and the thin rest between it and the surface.
        free[near[(gap <= max(0.6 * radius[i], 1.0)) | (radius[near] < 0.5 * radius[i])]] = False
    centers, radii = places[chosen].astype(np.float64), radius[chosen]
    gap = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    # The segment between the centres of two balls that overlap lies inside of the two.
    overlap = gap <= radii[:, None] + radii[None] + 1.5
    paths = np.asarray(dijkstra(csr_array(np.where(overlap, gap, 0.0)), directed=False))
    return Balls(low + step * (centers + 0.5), radii * step, paths * step)
