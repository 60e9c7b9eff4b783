"""Bones as boxes: what touches the ground and what has mass, measured from the mesh and its weights."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.errors import KinemaError
from kinema.rig.kinematics import Rig

CORNER_SIGNS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


@dataclass(frozen=True)
class Cuboids:
    """One box per joint, in the joint's frame: origin at its head, the world's axes at rest."""

    centers: Float[np.ndarray, "joints 3"]
    """Relative to the head [m]."""
    axes: Float[np.ndarray, "joints 3 3"]
    """Columns are the box's right-handed axes; the third runs along the bone, or level below it where flesh stands on
    the ground: the box of a foot must stand as flat as the foot."""
    half_sizes: Float[np.ndarray, "joints 3"]
    """Along the columns of `axes` [m], always positive."""
    volumes: Float[np.ndarray, "joints"]
    """Of the part of the mesh that the joint carries [m³]; 0 for a joint that carries nothing."""
    surface: Float[np.ndarray, "joints 8 3"] | None = None
    """For each corner the point of the mesh that stands for it, in the joint's frame [m]; None: the corner itself."""

    @property
    def corners(self) -> Float[np.ndarray, "joints 8 3"]:
        """In the joint's frame [m]."""
        along = CORNER_SIGNS[None] * self.half_sizes[:, None]
        return self.centers[:, None] + along @ self.axes.transpose(0, 2, 1)


def bone_cuboids(character: Character, *, trim: float = 0.01, columns: int = 48) -> Cuboids:
    """Fit a box to the vertices that each joint carries and measure the volume that moves with it.

    Args:
        trim: Share of a joint's surface that may stick out on each side, so that stray weights do not inflate the box.
        columns: Rays across the longest side of the mesh when volumes are measured.
    """
    if character.skeleton is None or character.weights is None:
        raise KinemaError(f"{character.name}: bone cuboids need a skeleton and skin weights; rig it first")
    mesh, skeleton = character.mesh, character.skeleton
    axes = _box_axes(skeleton)
    size = float(np.ptp(mesh.vertices, axis=0).max()) if len(mesh.vertices) else 1.0
    points, area, weights = _surface_samples(mesh, character.weights)
    # A point belongs to every joint whose share is at least half of its greatest one.
    owned = (weights >= 0.5 * weights.max(axis=1, keepdims=True)) & (weights > 0)
    strongest = weights.argmax(axis=1)
    centers, half_sizes = np.zeros((len(axes), 3)), np.zeros((len(axes), 3))
    surface = np.full((len(axes), 8, 3), np.nan)
    for j in range(len(axes)):
        bone = skeleton.tails[j] - skeleton.heads[j]
        mine = np.flatnonzero(owned[:, j])
        if len(mine) < 3:
            # Nothing to measure: a thin box from head to tail.
            thin = max(0.05 * float(np.linalg.norm(bone)), 0.002 * size)
            low, high = np.array([-thin, -thin, -thin]), np.array([thin, thin, thin])
            along = float(bone @ axes[j][:, 2])
            low[2], high[2] = min(0.0, along), max(0.0, along)
        else:
            stands = abs(float(points[mine, 1].min())) < 0.02 * size
            if stands:
                axes[j] = _level(axes[j])
            local = (points[mine] - skeleton.heads[j]) @ axes[j]
            low, high = _extent(local, area[mine] * weights[mine, j], trim)
            up = int(np.abs(axes[j][1]).argmax())
            down = -(up + 1) * int(np.sign(axes[j][1, up])) if stands else 0
            surface[j] = _farthest(local[strongest[mine] == j], low, high, down) @ axes[j].T
        centers[j] = axes[j] @ ((low + high) / 2)
        half_sizes[j] = np.maximum((high - low) / 2, 1e-3 * size)
    volumes = _volumes(mesh, points, weights, columns)
    # An open sheet encloses nothing; its joint still moves something: take the ellipsoid inside its box.
    boxes = 8 * half_sizes.prod(axis=1)
    hollow = (volumes < 0.02 * boxes) & (owned.sum(axis=0) >= 3)
    result = Cuboids(centers, axes, half_sizes, np.where(hollow, np.pi / 6 * boxes, volumes))
    return replace(result, surface=np.where(np.isnan(surface), result.corners, surface))


def _box_axes(skeleton: Skeleton) -> Float[np.ndarray, "joints 3 3"]:
    """Right-handed frames with the third axis along the bone and the first as near to the lateral axis as it can be."""
    bone = np.asarray(skeleton.tails, dtype=np.float64) - skeleton.heads
    length = np.linalg.norm(bone, axis=1, keepdims=True)
    bone = np.where(length > 1e-6 * max(float(length.max()), 1e-12), bone / np.maximum(length, 1e-300), [0.0, 0.0, 1.0])
    side = np.where(np.abs(bone[:, :1]) < 0.8, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    side = side - (side * bone).sum(axis=1, keepdims=True) * bone
    side = side / np.linalg.norm(side, axis=1, keepdims=True)
    return np.stack((side, np.cross(bone, side), bone), axis=2)


def _level(axes: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3 3"]:
    """The same frame turned as little as makes one of its axes vertical: that one which is nearest to it."""
    up = int(np.abs(axes[1]).argmax())
    result = axes.copy()
    result[:, up] = [0.0, np.sign(axes[1, up]), 0.0]
    # Of the other two the one that is more level keeps its heading; the last follows for a right-handed frame.
    kept, last = sorted(((up + 1) % 3, (up + 2) % 3), key=lambda k: abs(axes[1, k]))
    result[:, kept] = axes[:, kept] * [1.0, 0.0, 1.0]
    result[:, kept] /= np.linalg.norm(result[:, kept])
    result[:, last] = 0.0
    result[:, last] = np.cross(result[:, (last + 1) % 3], result[:, (last + 2) % 3])
    return result


def _extent(
    points: Float[np.ndarray, "points 3"], mass: Float[np.ndarray, "points"], trim: float
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Weighted quantiles `trim` and 1 - `trim` along each axis."""
    low, high = np.zeros(3), np.zeros(3)
    mass = mass + 1e-9 * (mass.mean() + 1e-300)
    for axis in range(3):
        order = np.argsort(points[:, axis])
        below = np.cumsum(mass[order])
        first = np.searchsorted(below, trim * below[-1])
        last = np.searchsorted(below, (1 - trim) * below[-1])
        low[axis], high[axis] = points[order[first], axis], points[order[min(last, len(order) - 1)], axis]
    return low, high


def _farthest(
    points: Float[np.ndarray, "points 3"], low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], down: int
) -> Float[np.ndarray, "8 3"]:
    """The point of a body farthest towards each corner of its box; NaN without any.

    Limbs taper: the corners of a box around a shank lie a hand's breadth outside of it. A body that stands does so on
    the lowest tenth of its height, all of which counts as its sole.

    Args:
        down: Axis and sign that point down where the body stands: -3 ... -1, 1 ... 3; 0 where it does not.
    """
    half = np.maximum((high - low) / 2, 1e-12)
    unit = (points - (low + high) / 2) / half
    unit = unit[(np.abs(unit) <= 1.001).all(axis=1)]
    if len(unit) == 0:
        return np.full((8, 3), np.nan)
    result = unit[(unit @ CORNER_SIGNS.T).argmax(axis=0)]
    if down:
        axis, sign = abs(down) - 1, float(np.sign(down))
        bottom = float((sign * unit[:, axis]).max())
        sole = unit[sign * unit[:, axis] >= bottom - 0.2]
        for k in np.flatnonzero(CORNER_SIGNS[:, axis] == sign):
            result[k] = sole[(sole @ CORNER_SIGNS[k]).argmax()]
            result[k, axis] = sign * bottom
    return (low + high) / 2 + half * result


def _surface_samples(
    mesh: Mesh, weights: Float[np.ndarray, "vertices joints"]
) -> tuple[Float[np.ndarray, "points 3"], Float[np.ndarray, "points"], Float[np.ndarray, "points joints"]]:
    """Points on the faces with their area [m²] and weights; coarse meshes get more of them per face."""
    if len(mesh.faces) == 0:
        return mesh.vertices, np.ones(len(mesh.vertices)), weights
    order = 4 if len(mesh.faces) < 5_000 else 2 if len(mesh.faces) < 50_000 else 1
    # Centres of the sub-triangles of each face, and, for exact extents, the vertices themselves without area.
    lattice = [(i, j) for i in range(order) for j in range(order - i)]
    up = [((3 * i + 1) / (3 * order), (3 * j + 1) / (3 * order)) for i, j in lattice]
    down = [((3 * i + 2) / (3 * order), (3 * j + 2) / (3 * order)) for i, j in lattice if i + j < order - 1]
    uv = np.array(up + down)
    barycentric = np.column_stack((1 - uv.sum(axis=1), uv))
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    face_area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    points = np.concatenate((mesh.vertices, np.einsum("sk,fkx->fsx", barycentric, corners).reshape(-1, 3)))
    area = np.concatenate((np.zeros(len(mesh.vertices)), np.repeat(face_area / len(uv), len(uv))))
    inner = np.einsum("sk,fkj->fsj", barycentric, weights[mesh.faces]).reshape(-1, weights.shape[1])
    return points, area, np.concatenate((weights, inner))


def _volumes(
    mesh: Mesh, surface: Float[np.ndarray, "points 3"], weights: Float[np.ndarray, "points joints"], columns: int
) -> Float[np.ndarray, "joints"]:
    """Integral over the inside of the mesh of each joint's weight at the nearest surface [m³].

    The inside is found along rays in the three axes; the median of the three makes a hole seen along one axis harmless.
    """
    from scipy.spatial import KDTree

    if len(mesh.faces) == 0:
        return np.zeros(weights.shape[1])
    tree = KDTree(surface)
    estimates = []
    for axis in range(3):
        points, share = _inside(mesh, axis, columns)
        nearest = tree.query(points)[1] if len(points) else np.zeros(0, dtype=int)
        estimates.append(np.bincount(nearest, share, minlength=len(surface)) @ weights)
    return np.median(estimates, axis=0)


def _inside(mesh: Mesh, axis: int, columns: int) -> tuple[Float[np.ndarray, "points 3"], Float[np.ndarray, "points"]]:
    """Points inside the mesh and the volume that each stands for [m³], from a grid of rays along one axis."""
    import trimesh

    low, high = mesh.vertices.min(axis=0).astype(np.float64), mesh.vertices.max(axis=0).astype(np.float64)
    step = float((high - low).max()) / columns
    u, v = (axis + 1) % 3, (axis + 2) % 3
    # Cells tile the bounding box exactly; an odd place in them keeps rays off the edges of modelled symmetry.
    count = np.maximum(1, np.ceil((high - low) / step)).astype(int)
    cell = (high - low) / count
    grid_u = low[u] + (np.arange(count[u]) + 0.4871) * cell[u]
    grid_v = low[v] + (np.arange(count[v]) + 0.5123) * cell[v]
    origins = np.zeros((len(grid_u) * len(grid_v), 3))
    origins[:, u], origins[:, v] = (g.ravel() for g in np.meshgrid(grid_u, grid_v, indexing="ij"))
    origins[:, axis] = low[axis] - step
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    direction = np.eye(3)[axis]
    faces, rays, hits = solid.ray.intersects_id(  # pyright: ignore[reportAssignmentType]
        origins, np.broadcast_to(direction, origins.shape), multiple_hits=True, return_locations=True
    )
    if len(rays) == 0:
        return np.zeros((0, 3)), np.zeros(0)
    depth = hits[:, axis]
    order = np.lexsort((depth, rays))
    rays, depth, faces = rays[order], depth[order], faces[order]
    entering = -np.sign(np.cross(*np.diff(mesh.vertices[mesh.faces[faces]], axis=1).swapaxes(0, 1))[:, axis])
    winding = np.cumsum(entering)
    # Every ray starts outside: subtract what the rays before it left over.
    starts = np.flatnonzero(np.r_[True, rays[1:] != rays[:-1]])
    before = np.r_[0.0, winding[starts[1:] - 1]]
    winding = winding - np.repeat(before, np.diff(np.r_[starts, len(rays)]))
    ends = np.r_[starts[1:], len(rays)] - 1
    open_ray = np.repeat(winding[ends] != 0, np.diff(np.r_[starts, len(rays)]))
    # A stretch between two hits of one ray is inside where the winding number is not zero.
    filled = np.r_[(rays[1:] == rays[:-1]) & (winding[:-1] != 0) & ~open_ray[:-1], False]
    index = np.flatnonzero(filled)
    if len(index) == 0:
        return np.zeros((0, 3)), np.zeros(0)
    start, length = depth[index], depth[index + 1] - depth[index]
    pieces = np.maximum(1, np.ceil(length / step)).astype(int)
    which = np.repeat(np.arange(len(index)), pieces)
    place = np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    points = origins[rays[index][which]]
    points[:, axis] = start[which] + (place + 0.5) * (length / pieces)[which]
    return points, (length / pieces)[which] * cell[u] * cell[v]


def contact_corners(rig: Rig, cuboids: Cuboids) -> Float[Tensor, "joints 8 3"]:
    """The points that can touch the ground, in the joint frame [m]: box corners, drawn in to where the body is.

    Boxes follow their bones. Those of tapering limbs have corners far outside, so where a mesh is known its point
    farthest towards the corner is taken. The corners of a slanting foot reach below its sole, so they end at the ground
    of the rest pose; the box of a thick shin reaches past its ankle, so it ends where its only child begins.
    """
    corners = torch.from_numpy(cuboids.corners if cuboids.surface is None else cuboids.surface).double()
    along = torch.from_numpy(cuboids.axes).double()[:, :, 2]
    offsets = rig.offsets.double()
    for j in range(len(rig.parents)):
        children = [c for c, p in enumerate(rig.parents) if p == j]
        if len(children) == 1 and float(offsets[children[0]] @ along[j]) > 0:
            past = (corners[j] @ along[j] - offsets[children[0]] @ along[j]).clamp(min=0)
            corners[j] -= past[:, None] * along[j]
    head = rig.heads.double()[:, None, 1]
    return torch.stack((corners[..., 0], torch.maximum(corners[..., 1], -head), corners[..., 2]), -1)
