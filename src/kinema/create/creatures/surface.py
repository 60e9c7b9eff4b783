"""From the implicit body to triangles: marching cubes on a grid that is finer where the body is thin."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix

from kinema.create.creatures.body import CORE, Blob, Body
from kinema.create.creatures.field import blob_box, blob_distance, body_distance, cut_sole, smooth_min
from kinema.geometry.surface import vertex_normals

THICKEN = 0.42
"""Least radius of anything, in grid steps; the grid is refined to about half a step there."""


@dataclass(frozen=True)
class Surface:
    """A closed triangle mesh of the body without its shells."""

    vertices: Float[np.ndarray, "vertices 3"]
    faces: Int[np.ndarray, "faces 3"]
    normals: Float[np.ndarray, "vertices 3"]


def triangulate(body: Body, *, count: int, relax: int = 3) -> Surface:
    """Mesh the zero set with about `count` vertices, relaxed along the surface `relax` times."""
    # Fewer vertices mean a larger share of them in refined places; the exponent is fitted to the species table.
    step = float(np.sqrt(sum(_area(blob) for blob in body.blobs) / count * 1.3 * (5200 / count) ** 0.4))
    vertices, faces = _march(body, step)
    for _ in range(2):
        if 0.7 < len(vertices) / count < 1.45:
            break
        step *= float(np.sqrt(len(vertices) / count))
        vertices, faces = _march(body, step)
    for _ in range(relax):
        vertices = vertices + _slide(vertices, faces, _gradient(body, vertices, step)[1])
    for _ in range(2 if relax > 1 else 1):
        d, normal = _gradient(body, vertices, step)
        vertices = vertices - np.clip(d, -step, step)[:, None] * normal
    vertices = vertices - [0, vertices[:, 1].min(), 0] if body.ground else vertices
    return Surface(vertices, faces, vertex_normals(vertices, faces))


def _area(blob: Blob) -> float:
    """Rough area [m²] of a blob that shows: its side wall, of which about half is hidden in others."""
    length = np.linalg.norm(blob.b - blob.a) + blob.radius_a + blob.radius_b
    return float(np.pi * (blob.radius_a + blob.radius_b) * length * np.prod(blob.scale) ** (2 / 3))


def _axis(body: Body, axis: int, step: float) -> np.ndarray:
    """Coordinates of the grid's planes: as fine as the thinnest blob that they cut wants, between step/2 and step."""
    boxes = [blob_box(blob, thicken=THICKEN * step) for blob in body.blobs]
    low, high = min(box[0][axis] for box in boxes), max(box[1][axis] for box in boxes)
    fine = np.linspace(low - 1.5 * step, high + 1.5 * step, 400)
    want = np.full(len(fine), step)
    for blob, (lower, upper) in zip(body.blobs, boxes, strict=True):
        thin = 0.75 * min(blob.radius_a * 1.5, blob.radius_b * 1.5, max(blob.radius_a, blob.radius_b)) * min(blob.scale)
        here = (fine > lower[axis]) & (fine < upper[axis])
        want[here] = np.minimum(want[here], np.clip(thin, 0.5 * step, step))
    kernel = np.hanning(25)
    want = np.convolve(np.pad(want, 12, mode="edge"), kernel / kernel.sum(), mode="valid")
    steps = np.concatenate(([0.0], np.cumsum((1 / want[1:] + 1 / want[:-1]) / 2 * np.diff(fine))))
    return np.interp(np.linspace(0, steps[-1], int(np.ceil(steps[-1])) + 1), steps, fine).astype(np.float32)


def _march(body: Body, step: float) -> tuple[np.ndarray, np.ndarray]:
    from skimage.measure import marching_cubes

    axes = [_axis(body, axis, step) for axis in range(3)]
    field = _sample(body, axes, step)
    # A value of exactly zero makes triangles without area.
    field[np.abs(field) < 1e-3 * step] = 1e-3 * step
    vertices, faces, _, _ = marching_cubes(field, 0.0, gradient_direction="descent", allow_degenerate=True)
    vertices = np.stack([np.interp(vertices[:, i], np.arange(len(axes[i])), axes[i]) for i in range(3)], -1)
    return _largest(vertices, faces.astype(np.int64))


def _sample(body: Body, axes: list[np.ndarray], step: float) -> np.ndarray:
    """The field on the grid; each blob is evaluated only where it can matter, farther out the field is just large."""
    far = 2 * step + max(part.blend for part in (*body.blobs, *body.limbs))
    x, y, z = axes[0][:, None, None], axes[1][None, :, None], axes[2][None, None, :]
    core = np.full([len(axis) for axis in axes], far, dtype=np.float32)

    def add(target: np.ndarray, blob: Blob) -> tuple[slice, ...]:
        """Join the blob to the target and return the cells that it can change."""
        lower, upper = blob_box(blob, thicken=THICKEN * step)
        at = i, j, k = tuple(slice(*np.searchsorted(axes[i], (lower[i] - far, upper[i] + far))) for i in range(3))
        d = blob_distance(blob, x[i], y[:, j], z[:, :, k], thicken=THICKEN * step)
        target[at] = smooth_min(target[at], d.astype(np.float32), blob.blend)
        return at

    for blob in body.blobs:
        if blob.limb == CORE:
            add(core, blob)
    result = core.copy()
    for index, limb in enumerate(body.limbs):
        own = np.full_like(core, far)
        boxes = [add(own, blob) for blob in body.blobs if blob.limb == index]
        whole = tuple(slice(min(b[i].start for b in boxes), max(b[i].stop for b in boxes)) for i in range(3))
        result[whole] = np.minimum(result[whole], smooth_min(core[whole], own[whole], limb.blend))
    if body.ground:
        result = cut_sole(result, np.broadcast_to(y, result.shape), 0.6 * step)
    return result.astype(np.float32)


def _gradient(body: Body, points: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Distance and outward normal at points, from four samples on a tetrahedron."""
    eps, corners = 0.08 * step, np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    spread = (points[None] + eps * corners[:, None]).reshape(-1, 3).astype(np.float32)
    d = body_distance(body, spread, thicken=THICKEN * step, sole=0.6 * step).reshape(4, -1).astype(np.float64)
    gradient = np.einsum("kn,kc->nc", d, corners) / (4 * eps)
    size = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return d.mean(0) / np.clip(size[:, 0], 0.3, None), gradient / np.maximum(size, 1e-6)


def _adjacency(vertices: np.ndarray, faces: np.ndarray) -> csr_matrix:
    """How many directed edges of faces lead from one vertex to another."""
    ends = faces.ravel(), np.roll(faces, 1, axis=1).ravel()
    return csr_matrix((np.ones(faces.size), ends), shape=(len(vertices), len(vertices)))


def _slide(vertices: np.ndarray, faces: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Step towards the mean of the neighbours, along the surface only."""
    adjacency = _adjacency(vertices, faces)
    move = (adjacency @ vertices) / np.maximum(np.asarray(adjacency.sum(1)).reshape(-1, 1), 1) - vertices
    return 0.6 * (move - (move * normal).sum(-1, keepdims=True) * normal)


def _largest(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest connected part; islands are what a coarse grid left of something thin."""
    from scipy.sparse.csgraph import connected_components

    parts, label = connected_components(_adjacency(vertices, faces), directed=False)
    if parts == 1:
        return vertices, faces
    keep = label == np.bincount(label).argmax()
    return vertices[keep], (np.cumsum(keep) - 1)[faces[keep[faces[:, 0]]]]
