"""Bones as boxes, measured from the mesh and its weights: what touches the ground and what has mass."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character, Mesh
from kinema.errors import KinemaError
from kinema.geometry.inside import fill
from kinema.geometry.rotations import children
from kinema.geometry.surface import Points, face_areas_normals
from kinema.rig.kinematics import Rig, frames_along

Vector = Float[np.ndarray, "3"]
Mass = Float[np.ndarray, "points"]
Weights = Float[np.ndarray, "points joints"]
TRIM = 0.01
"""Share of a joint's surface that may stick out on each side of its box, so that stray weights do not inflate it."""
COLUMNS = 48
"""Rays across the longest side of the mesh when volumes are measured."""
CORNER_SIGNS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


@dataclass(frozen=True)
class Cuboids:
    """One box per joint, in the joint's frame: origin at its head, the world's axes at rest."""

    centers: Float[np.ndarray, "joints 3"]
    """Relative to the head [m]."""
    axes: Float[np.ndarray, "joints 3 3"]
    """Columns are the box's right-handed axes; the third runs along the bone, or level below it where the vertices
    stand on the ground: the box of a foot must stand as flat as the foot."""
    half_sizes: Float[np.ndarray, "joints 3"]
    """Along the columns of `axes` [m], always positive."""
    volumes: Float[np.ndarray, "joints"]
    """Volume of the part of the mesh that the joint carries [m³]; 0 for a joint that carries nothing."""
    surface: Float[np.ndarray, "joints 8 3"] | None = None
    """For each corner the point of the mesh that stands for it, in the joint's frame [m]; None: the corner itself."""

    @property
    def corners(self) -> Float[np.ndarray, "joints 8 3"]:
        """In the joint's frame [m]."""
        return self.centers[:, None] + CORNER_SIGNS * self.half_sizes[:, None] @ self.axes.transpose(0, 2, 1)


def bone_cuboids(character: Character) -> Cuboids:
    """Fit a box to the vertices that each joint carries and measure the volume that moves with it."""
    if character.skeleton is None or character.weights is None:
        raise KinemaError(f"{character.name}: bone cuboids need a skeleton and skin weights; rig it first")
    mesh, heads = character.mesh, character.skeleton.heads
    bones = np.asarray(character.skeleton.tails, dtype=np.float64) - heads
    length = np.linalg.norm(bones, axis=1, keepdims=True)
    has_length = length > 1e-6 * max(float(length.max()), 1e-12)
    axes = frames_along(np.where(has_length, bones / np.maximum(length, 1e-300), [0.0, 0.0, 1.0]))
    size = float(np.ptp(mesh.vertices, axis=0).max()) if len(mesh.vertices) else 1.0
    points, area, weights = _surface_samples(mesh, character.weights)
    # A point belongs to every joint whose share is at least half of its greatest one.
    owned = (weights >= 0.5 * weights.max(axis=1, keepdims=True)) & (weights > 0)
    strongest = weights.argmax(axis=1)
    centers, half_sizes, surface = np.zeros(bones.shape), np.zeros(bones.shape), np.full((len(bones), 8, 3), np.nan)
    for j in range(len(bones)):
        mine = np.flatnonzero(owned[:, j])
        if len(mine) < 3:
            # Nothing to measure: a thin box from head to tail.
            thin, along = max(0.05 * float(length[j, 0]), 0.002 * size), float(bones[j] @ axes[j][:, 2])
            low, high = np.array([-thin, -thin, min(0.0, along)]), np.array([thin, thin, max(0.0, along)])
        else:
            stands = abs(float(points[mine, 1].min())) < 0.02 * size
            if stands:
                axes[j] = _level(axes[j])
            local = (points[mine] - heads[j]) @ axes[j]
            low, high = _extent(local, area[mine] * weights[mine, j])
            surface[j] = _farthest(local[strongest[mine] == j], low, high, axes[j][1] if stands else None) @ axes[j].T
        centers[j] = axes[j] @ ((low + high) / 2)
        half_sizes[j] = np.maximum((high - low) / 2, 1e-3 * size)
    volumes = _volumes(mesh, points, weights)
    # An open sheet encloses nothing; its joint still moves something: take the ellipsoid inside its box.
    boxes = 8 * half_sizes.prod(axis=1)
    hollow = (volumes < 0.02 * boxes) & (owned.sum(axis=0) >= 3)
    result = Cuboids(centers, axes, half_sizes, np.where(hollow, np.pi / 6 * boxes, volumes))
    return replace(result, surface=np.where(np.isnan(surface), result.corners, surface))


def _level(axes: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3 3"]:
    """The frame, rotated as little as makes the most vertical of its axes vertical."""
    up = int(np.abs(axes[1]).argmax())
    result = axes.copy()
    result[:, up] = [0.0, np.sign(axes[1, up]), 0.0]
    # The more level one of the other two keeps its heading; the last follows for a right-handed frame.
    kept, last = sorted(((up + 1) % 3, (up + 2) % 3), key=lambda k: abs(axes[1, k]))
    result[:, kept] = axes[:, kept] * [1.0, 0.0, 1.0]
    result[:, kept] /= np.linalg.norm(result[:, kept])
    result[:, last] = np.cross(result[:, (last + 1) % 3], result[:, (last + 2) % 3])
    return result


def _extent(points: Points, mass: Mass) -> tuple[Vector, Vector]:
    """Weighted quantiles TRIM and 1 - TRIM along each axis."""
    order = points.argsort(axis=0)
    below = (mass + 1e-9 * (mass.mean() + 1e-300))[order].cumsum(axis=0)
    ends = [(below < share * below[-1]).sum(axis=0) for share in (TRIM, 1 - TRIM)]
    low, high = np.take_along_axis(points, order, axis=0)[ends, range(3)]
    return low, high


def _farthest(points: Points, low: Vector, high: Vector, up: Vector | None) -> Float[np.ndarray, "8 3"]:
    """The point of a body part farthest towards each corner of its box; NaN without any.

    Limbs taper: the corners of a box around a shank lie a hand's breadth outside of it. The sole of a part that stands
    is the lowest tenth of its height; `up` is then the world's up in the part's axes, one of which is vertical.
    """
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-12)
    unit = (points - middle) / half
    unit = unit[(np.abs(unit) <= 1.001).all(axis=1)]
    if len(unit) == 0:
        return np.full((8, 3), np.nan)
    result = unit[(unit @ CORNER_SIGNS.T).argmax(axis=0)]
    if up is not None:
        axis = int(np.abs(up).argmax())
        sign = -float(np.sign(up[axis]))
        bottom = float((sign * unit[:, axis]).max())
        sole = unit[sign * unit[:, axis] >= bottom - 0.2]
        for k in np.flatnonzero(CORNER_SIGNS[:, axis] == sign):
            result[k] = sole[(sole @ CORNER_SIGNS[k]).argmax()]
            result[k, axis] = sign * bottom
    return middle + half * result


def _surface_samples(mesh: Mesh, weights: Float[np.ndarray, "vertices joints"]) -> tuple[Points, Mass, Weights]:
    """Points on the faces with their area [m²] and weights; coarse meshes get more of them per face."""
    if len(mesh.faces) == 0:
        return mesh.vertices, np.ones(len(mesh.vertices)), weights
    order = 4 if len(mesh.faces) < 5_000 else 2 if len(mesh.faces) < 50_000 else 1
    # Centres of the sub-triangles of each face, and, for exact extents, the vertices themselves without area.
    thirds = [(3 * i + 1, 3 * j + 1) for i in range(order) for j in range(order - i)]
    thirds += [(3 * i + 2, 3 * j + 2) for i in range(order - 1) for j in range(order - 1 - i)]
    uv = np.array(thirds) / (3 * order)
    barycentric = np.column_stack((1 - uv.sum(axis=1), uv))
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    face_area, _ = face_areas_normals(mesh.vertices, mesh.faces)
    points = np.concatenate((mesh.vertices, np.einsum("sk,fkx->fsx", barycentric, corners).reshape(-1, 3)))
    area = np.concatenate((np.zeros(len(mesh.vertices)), np.repeat(face_area / len(uv), len(uv))))
    inner = np.einsum("sk,fkj->fsj", barycentric, weights[mesh.faces]).reshape(-1, weights.shape[1])
    return points, area, np.concatenate((weights, inner))


def _volumes(mesh: Mesh, surface: Points, weights: Weights) -> Float[np.ndarray, "joints"]:
    """Integral over the inside of the mesh of each joint's weight at the nearest surface point [m³].

    The inside is found along rays in the three axes; the median of the three makes a hole seen along one axis harmless.
    """
    from scipy.spatial import KDTree

    if len(mesh.faces) == 0:
        return np.zeros(weights.shape[1])
    tree, filled = KDTree(surface), (fill(mesh.vertices, mesh.faces, axis, columns=COLUMNS) for axis in range(3))
    return np.median(
        [np.bincount(tree.query(x)[1], size, minlength=len(surface)) @ weights for x, size in filled], axis=0
    )


def contact_corners(rig: Rig, cuboids: Cuboids) -> Float[Tensor, "joints 8 3"]:
    """The points that can touch the ground, in the joint frame [m]: box corners, drawn in to where the body is.

    Boxes follow their bones. Those of tapering limbs have corners far outside, so where a mesh is known its point
    farthest towards the corner is taken. The corners of a slanting foot reach below its sole, so they end at the ground
    of the rest pose; the box of a thick shin reaches past its ankle, so it ends where its only child begins.
    """
    corners = torch.tensor(cuboids.corners if cuboids.surface is None else cuboids.surface).double()
    along = torch.from_numpy(cuboids.axes).double()[:, :, 2]
    for j, below in enumerate(children(rig.parents)):
        if len(below) == 1 and (end := rig.offsets[below[0]].double() @ along[j]) > 0:
            corners[j] -= (corners[j] @ along[j] - end).clamp(min=0)[:, None] * along[j]
    corners[..., 1] = torch.maximum(corners[..., 1], -rig.heads.double()[:, None, 1])
    return corners
