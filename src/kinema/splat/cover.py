"""Cut a surface into patches, each of which one Gaussian can stand for.

Superpixels on a mesh: many sample points of the surface are clustered (Lloyd's algorithm) by position, direction and
colour, so that patches bend neither round a sharp edge nor across a border of the texture.
"""

import numpy as np
import torch
from scipy.spatial import KDTree

from kinema.asset.character import Mesh
from kinema.errors import KinemaError
from kinema.geometry.decimate import cell_means
from kinema.geometry.rays import RayCaster, exposure
from kinema.geometry.surface import SurfacePoints, face_areas_normals, sample_surface
from kinema.geometry.transforms import matrix_to_quaternion
from kinema.splat.colors import surface_colors
from kinema.splat.splats import SH_DC, Splats

SAMPLES_PER_PATCH = 8
NORMAL_WEIGHT = 0.3
"""Distance that a turn of the normal by 1 rad counts as, in patch diameters."""
COLOR_WEIGHT = 2.0
"""Distance that a change of colour by 1 counts as, in patch diameters."""
SPREAD = 1.6
"""Ratio of a Gaussian's deviation to its patch's; at 1 gaps would show between patches."""
THICKNESS = 0.05
"""Deviation along the normal, relative to that of an even patch."""
OPACITY = 0.99
LEAST_SEEN, SEEN_GAIN = 0.15, 3.0
"""Density of patches on a hidden face, and per share of directions that see a face; at most 1."""
INSET = 0.0048
"""Depth of Gaussians under the surface, in lengths of the mesh's longest edge. A rasterizer blurs every Gaussian
by half a pixel and a rim of many grows by almost one; this takes it back for a character of some 250 pixels (at other
sizes the error is a fraction of a pixel or of no account)."""


def cover(mesh: Mesh, count: int, *, rng: np.random.Generator, relax: int) -> tuple[Splats, SurfacePoints]:
    """One Gaussian for each of about `count` patches of equal area, and the sample nearest to its patch's centre."""
    area, face_normal = face_areas_normals(mesh.vertices, mesh.faces)
    if count < 1 or not 0 < area.sum() < np.inf:
        raise KinemaError(f"no surface to cover with {count} Gaussians: {len(mesh.faces)} faces of {area.sum():g} m²")
    diameter = np.sqrt(area.sum() / count)
    # Nobody looks into a helmet: what no direction reaches gets few patches, though some, as posing may bare it.
    rays = int(np.clip(400_000 // len(mesh.faces), 6, 24))
    weight = np.clip(SEEN_GAIN * exposure(mesh.vertices, mesh.faces, rays=rays), LEAST_SEEN, 1)

    def draw(number: int) -> tuple[SurfacePoints, np.ndarray, np.ndarray]:
        """Samples that no texture cuts away, their colours, and the features by which they are clustered."""
        samples = sample_surface(mesh.vertices, mesh.faces, number, rng=rng, weight=weight)
        rgba = surface_colors(mesh, samples)
        kept = np.flatnonzero(rgba[:, 3] >= 0.5)
        if len(kept) == 0:
            raise KinemaError(f"the mesh has nothing to see: its textures are transparent at all {len(rgba)} samples")
        samples, color = samples[kept], rgba[kept, :3]
        point = samples.interpolate(mesh.faces, mesh.vertices.astype(np.float64))
        bent = NORMAL_WEIGHT * diameter * face_normal[samples.face]
        return samples, color, np.concatenate((point, bent, COLOR_WEIGHT * diameter * color), -1)

    samples, color, feature = draw(count * SAMPLES_PER_PATCH)
    mean = draw(count)[2]
    for _ in range(relax):
        mean = cell_means(_nearest(feature, mean), feature)
    label = _nearest(feature, mean)
    center, deviation, axes, anchor = _moments(samples, feature[:, :3], face_normal, label, diameter)
    # Under the surface, but in a blade or an ear not beyond two fifths of its thickness.
    size, inwards = float(np.ptp(mesh.vertices, axis=0).max()), -axes[:, :, 2]
    thickness = RayCaster(mesh.vertices, mesh.faces).distances(center + 1e-5 * size * inwards, inwards)
    center = center + np.minimum(INSET * size, 0.4 * thickness)[:, None] * inwards
    splats = Splats(
        torch.from_numpy(center).float(),
        torch.from_numpy(np.log(deviation)).float(),
        matrix_to_quaternion(torch.from_numpy(axes)).float(),
        torch.full((len(center),), OPACITY).logit(),
        ((torch.from_numpy(cell_means(label, color)) - 0.5) / SH_DC).float()[:, None],
    )
    return splats, anchor


def _nearest(feature: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The nearest mean of each sample, numbered without those that have none."""
    nearest = KDTree(mean, balanced_tree=False, compact_nodes=False).query(feature, workers=2)[1]
    return np.unique(nearest, return_inverse=True)[1].ravel()


def _moments(
    samples: SurfacePoints, point: np.ndarray, face_normal: np.ndarray, label: np.ndarray, diameter: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, SurfacePoints]:
    """Centre [n, 3], deviations along the axes [n, 3], axes (columns: two tangents and the normal; [n, 3, 3]) and the
    sample nearest to the centre of each patch."""
    normal = face_normal[samples.face]
    center, n = cell_means(label, point), cell_means(label, normal)
    length = np.linalg.norm(n, axis=-1, keepdims=True)
    first = np.unique(label, return_index=True)[1]
    n = np.where(length > 1e-6, n / np.maximum(length, 1e-6), normal[first])
    # Two tangents of the patch's plane, turned so that the spread of the patch is diagonal in them.
    helper = np.where(np.abs(n[:, :1]) < 0.7, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    t1 = np.cross(n, helper)
    t1 /= np.linalg.norm(t1, axis=-1, keepdims=True)
    t2, offset = np.cross(n, t1), point - center[label]
    x, y = (offset * t1[label]).sum(-1), (offset * t2[label]).sum(-1)
    xx, xy, yy = cell_means(label, np.stack((x * x, x * y, y * y), -1)).T
    # A patch of few samples is larger than their spread: each stands for a disc of diameter²/SAMPLES area,
    # whose variance along either tangent is its area / 4 pi.
    own = diameter**2 / SAMPLES_PER_PATCH / (4 * np.pi)
    xx, yy = xx + own, yy + own
    turn = 0.5 * np.arctan2(2 * xy, xx - yy)
    c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
    middle, radius = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    along = np.sqrt(np.stack((middle + radius, np.maximum(middle - radius, own)), -1)) * SPREAD
    deviation = np.concatenate((along, np.full((len(n), 1), THICKNESS * (diameter / np.sqrt(4 * np.pi)))), -1)
    axes = np.stack((c * t1 + s * t2, c * t2 - s * t1, n), -1)
    order = np.lexsort(((offset * offset).sum(-1), label))
    starts = np.searchsorted(label[order], np.arange(len(n)))
    return center, deviation, axes, samples[order[starts]]
