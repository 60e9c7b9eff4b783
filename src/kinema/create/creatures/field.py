"""The implicit body: round cones around the bones, joined smoothly.

A body is a core (pelvis to head) and limbs (legs, arms, tail, ears). Each limb melts into the core, but two limbs do
not melt into each other: thighs that touch must not grow a web between them.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

CORE = -1
"""The `limb` of blobs that belong to the core."""


@dataclass(frozen=True)
class Blob:
    """A round cone from `a` to `b`; all lengths in metres."""

    a: Float[np.ndarray, "3"]
    b: Float[np.ndarray, "3"]
    radius_a: float
    radius_b: float
    color: Float[np.ndarray, "3"]
    limb: int = CORE
    blend: float = 0.02
    """Width of the smooth union with what is already there [m]."""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Stretch along the world's axes about the middle of a and b."""
    sharp: float = 2.0
    """Exponent of the norm that makes the cross-section: 2 is round, 8 is a box."""


@dataclass(frozen=True)
class Limb:
    """A chain of joints that hangs on the core."""

    joints: tuple[int, ...]
    blend: float
    """Width over which limb and core melt, in shape and in weights [m]."""
    cut: float = 1.0
    """Band of the weights around each joint of the chain, in radii of the limb there."""


@dataclass(frozen=True)
class Shell:
    """A small closed part of its own (eye, horn, claw) that rides on one joint: a chain of rings along `path`."""

    path: Float[np.ndarray, "rings 3"]
    radii: Float[np.ndarray, "rings"]
    color: Float[np.ndarray, "3"]
    joint: int
    tip_color: Float[np.ndarray, "3"] | None = None


@dataclass(frozen=True)
class Body:
    """Everything that a body plan says about one creature, before there is a mesh."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    heads: Float[np.ndarray, "joints 3"]
    tails: Float[np.ndarray, "joints 3"]
    core: tuple[int, ...]
    """Joints of the core in order, pelvis to head."""
    limbs: tuple[Limb, ...]
    blobs: tuple[Blob, ...]
    marks: tuple[Blob, ...] = ()
    """Paint only: the surface inside a mark takes its colour, softly over `blend`."""
    shells: tuple[Shell, ...] = ()
    eyes: tuple["Eye", ...] = field(default=())
    ground: bool = True
    """Cut flat at y = 0, so that feet have soles."""


@dataclass(frozen=True)
class Eye:
    """A ball set on the surface where a ray from inside the head leaves it."""

    start: Float[np.ndarray, "3"]
    direction: Float[np.ndarray, "3"]
    radius: float
    color: Float[np.ndarray, "3"]
    joint: int
    white: Float[np.ndarray, "3"] | None = None
    """Colour of the ball around a pupil of `color`; None: the whole ball has `color`."""
    look: Float[np.ndarray, "3"] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """Where the pupil points."""
    depth: float = 0.35
    """How far the centre lies below the surface, in radii."""


def smooth_min(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """The smaller one, rounded where they differ by less than `width`: min(a, b) - (width - |a - b|)² / 4 width."""
    if width <= 0:
        return np.minimum(a, b)
    h = np.maximum(width - np.abs(a - b), 0.0)
    return np.minimum(a, b) - h * h * (0.25 / width)


def blob_distance(blob: Blob, x: np.ndarray, y: np.ndarray, z: np.ndarray, *, thicken: float = 0.0) -> np.ndarray:
    """Signed distance [m] to a blob, exact for round ones, to first order for stretched ones.

    Args:
        blob: The blob.
        x: Coordinates; x, y and z broadcast against each other.
        y: See x.
        z: See x.
        thicken: Least radius, so that a coarse grid does not lose a thin leg [m].
    """
    middle = (blob.a + blob.b) / 2
    ra, rb, scale = _thickened(blob, thicken)
    sx, sy, sz = scale
    ax, ay, az = (blob.a - middle) / scale
    dx, dy, dz = (blob.b - blob.a) / scale
    px, py, pz = (x - middle[0]) / sx - ax, (y - middle[1]) / sy - ay, (z - middle[2]) / sz - az
    length2 = dx * dx + dy * dy + dz * dz
    length = np.sqrt(length2)
    if length < 1e-9:
        t = np.float32(0.0)
    else:
        along = (px * dx + py * dy + pz * dz) / length
        # The nearest point lies ahead of the foot of the perpendicular where the cone grows that way.
        slope = np.clip((rb - ra) / length, -0.95, 0.95)
        if abs(slope) > 1e-6:
            side = np.sqrt(np.maximum(px * px + py * py + pz * pz - along * along, 0.0))
            along = along + side * (slope / np.sqrt(1 - slope * slope))
        t = np.clip(along / length, 0.0, 1.0)
        px, py, pz = px - t * dx, py - t * dy, pz - t * dz
    if blob.sharp == 2.0:
        r = np.sqrt(px * px + py * py + pz * pz) + 1e-9
        d = r - (ra + (rb - ra) * t)
    else:
        p = blob.sharp
        r = (np.abs(px) ** p + np.abs(py) ** p + np.abs(pz) ** p) ** (1 / p) + 1e-9
        d = r - (ra + (rb - ra) * t)
    if scale == (1.0, 1.0, 1.0):
        return d
    r = np.sqrt(px * px + py * py + pz * pz) + 1e-9
    steep = np.sqrt((px / sx) ** 2 + (py / sy) ** 2 + (pz / sz) ** 2) / r
    # Near the medial axis the direction is undefined; there any slope between the extremes will do.
    return d / np.maximum(steep, 1.0 / max(scale))


def blob_box(blob: Blob, *, thicken: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Axis-aligned box around a blob: lower and upper corner [m]."""
    ra, rb, scale = _thickened(blob, thicken)
    around = np.asarray(scale)
    return np.minimum(blob.a - ra * around, blob.b - rb * around), np.maximum(
        blob.a + ra * around, blob.b + rb * around
    )


def _thickened(blob: Blob, thicken: float) -> tuple[float, float, tuple[float, float, float]]:
    """Radii and stretch with which no axis of the blob is thinner than `thicken`."""
    ra, rb = max(blob.radius_a, thicken), max(blob.radius_b, thicken)
    least = min(1.0, thicken / min(ra, rb))
    sx, sy, sz = blob.scale
    return ra, rb, (max(sx, least), max(sy, least), max(sz, least))


def part_distances(
    body: Body, points: Float[np.ndarray, "n 3"], *, thicken: float = 0.0
) -> Float[np.ndarray, "parts n"]:
    """Signed distance to the core (row 0) and to each limb (row 1 + limb) [m]."""
    x, y, z = points.T
    parts = np.full((1 + len(body.limbs), len(points)), 1e3, dtype=points.dtype)
    for blob in body.blobs:
        d = blob_distance(blob, x, y, z, thicken=thicken)
        parts[1 + blob.limb] = smooth_min(parts[1 + blob.limb], d, blob.blend)
    return parts


def join(body: Body, core: np.ndarray, limbs: list[np.ndarray], height: np.ndarray, *, sole: float) -> np.ndarray:
    """The body's field out of its parts: each limb melts into the core, limbs meet in a crease, soles are flat."""
    result = core
    for limb, d in zip(body.limbs, limbs, strict=True):
        result = np.minimum(result, smooth_min(core, d, limb.blend))
    return cut_sole(result, height, sole) if body.ground else result


def cut_sole(distance: np.ndarray, height: np.ndarray, sole: float) -> np.ndarray:
    """max(distance, -height), rounded over `sole` [m]: the body without what is below the ground."""
    return -smooth_min(-distance, height, sole)


def body_distance(
    body: Body, points: Float[np.ndarray, "n 3"], *, thicken: float, sole: float
) -> Float[np.ndarray, "n"]:
    """The field at points: negative inside, about a distance [m] near the surface."""
    parts = part_distances(body, points, thicken=thicken)
    return join(body, parts[0], list(parts[1:]), points[:, 1], sole=sole)
