"""The implicit surface of a body: signed distances to its round cones, joined smoothly.

Each limb melts into the core, but two limbs do not melt into each other: thighs that touch must not grow a web.
"""

import numpy as np
from jaxtyping import Float

from kinema.create.creatures.body import Blob, Body

Points = Float[np.ndarray, "n 3"]


def smooth_min(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """The smaller one, rounded where they differ by less than `width`: min(a, b) - (width - |a - b|)² / 4 width."""
    if width <= 0:
        return np.minimum(a, b)
    h = np.maximum(width - np.abs(a - b), 0.0)
    return np.minimum(a, b) - h * h * (0.25 / width)


def blob_distance(blob: Blob, x: np.ndarray, y: np.ndarray, z: np.ndarray, *, thicken: float = 0.0) -> np.ndarray:
    """Signed distance [m] of coordinates, which broadcast, to a blob; to first order where the blob is stretched.

    `thicken` is the least radius [m], so that a coarse grid does not lose a thin leg.
    """
    middle = (blob.a + blob.b) / 2
    ra, rb, scale = _thickened(blob, thicken)
    sx, sy, sz = scale
    ax, ay, az = (blob.a - middle) / scale
    dx, dy, dz = (blob.b - blob.a) / scale
    px, py, pz = (x - middle[0]) / sx - ax, (y - middle[1]) / sy - ay, (z - middle[2]) / sz - az
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    t = np.float32(0.0)
    if length >= 1e-9:
        along = (px * dx + py * dy + pz * dz) / length
        # The nearest point lies ahead of the foot of the perpendicular where the cone grows that way.
        slope = np.clip((rb - ra) / length, -0.95, 0.95)
        if abs(slope) > 1e-6:
            side = np.sqrt(np.maximum(px * px + py * py + pz * pz - along * along, 0.0))
            along = along + side * (slope / np.sqrt(1 - slope * slope))
        t = np.clip(along / length, 0.0, 1.0)
        px, py, pz = px - t * dx, py - t * dy, pz - t * dz
    p = blob.sharp
    straight = np.sqrt(px * px + py * py + pz * pz) + 1e-9
    r = straight if p == 2.0 else (np.abs(px) ** p + np.abs(py) ** p + np.abs(pz) ** p) ** (1 / p) + 1e-9
    d = r - (ra + (rb - ra) * t)
    if scale == (1.0, 1.0, 1.0):
        return d
    steep = np.sqrt((px / sx) ** 2 + (py / sy) ** 2 + (pz / sz) ** 2) / straight
    # Near the medial axis the direction is undefined; there any slope between the extremes will do.
    return d / np.maximum(steep, 1.0 / max(scale))


def blob_box(blob: Blob, *, thicken: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Axis-aligned box around a blob: lower and upper corner [m]."""
    ra, rb, scale = _thickened(blob, thicken)
    a, b = ra * np.asarray(scale), rb * np.asarray(scale)
    return np.minimum(blob.a - a, blob.b - b), np.maximum(blob.a + a, blob.b + b)


def _thickened(blob: Blob, thicken: float) -> tuple[float, float, tuple[float, float, float]]:
    """Radii and stretch with which no axis of the blob is thinner than `thicken`."""
    ra, rb = max(blob.radius_a, thicken), max(blob.radius_b, thicken)
    least = min(1.0, thicken / min(ra, rb))
    sx, sy, sz = blob.scale
    return ra, rb, (max(sx, least), max(sy, least), max(sz, least))


def part_distances(body: Body, points: Points, *, thicken: float = 0.0) -> Float[np.ndarray, "parts n"]:
    """Signed distance to the core (row 0) and to each limb (row 1 + limb) [m]."""
    x, y, z = points.T
    parts = np.full((1 + len(body.limbs), len(points)), 1e3, dtype=points.dtype)
    for blob in body.blobs:
        d = blob_distance(blob, x, y, z, thicken=thicken)
        parts[1 + blob.limb] = smooth_min(parts[1 + blob.limb], d, blob.blend)
    return parts


def cut_sole(distance: np.ndarray, height: np.ndarray, sole: float) -> np.ndarray:
    """max(distance, -height), rounded over `sole` [m]: the body without what is below the ground."""
    return -smooth_min(-distance, height, sole)


def body_distance(body: Body, points: Points, *, thicken: float, sole: float) -> Float[np.ndarray, "n"]:
    """The whole body's field at points: negative inside, about a distance [m] near the surface."""
    core, *limbs = part_distances(body, points, thicken=thicken)
    result = core
    for limb, d in zip(body.limbs, limbs, strict=True):
        result = np.minimum(result, smooth_min(core, d, limb.blend))
    return cut_sole(result, points[:, 1], sole) if body.ground else result
