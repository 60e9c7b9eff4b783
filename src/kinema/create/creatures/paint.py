"""Vertex colours: the nearest blob's, then marks, patterns and a little shading by height."""

import numpy as np
from jaxtyping import Float

from kinema.create.creatures.body import ANYWHERE, Body
from kinema.create.creatures.field import Points, blob_distance, part_distances
from kinema.create.creatures.proportions import Coat
from kinema.create.creatures.weights import smoothstep


def paint(body: Body, coat: Coat, points: Points, normals: Points, *, seed: int) -> Points:
    """sRGB colours of surface points."""
    x, y, z = points.T
    size = np.ptp(points, axis=0).max()
    d = np.stack([blob_distance(blob, x, y, z) for blob in body.blobs])
    share = np.exp(-(d - d.min(0)) / (0.006 * size))
    colors = np.einsum("bn,bc->nc", share / share.sum(0), np.stack([blob.color for blob in body.blobs]))
    if coat.pattern != "plain":
        # Patterns show on the coat's base colour only: they leave muzzle and socks alone.
        near_base = smoothstep(0.25, 0.05, np.linalg.norm(colors - coat.base, axis=-1))
        amount = _pattern(coat, points / size, seed) * near_base
        colors = colors + amount[:, None] * (np.asarray(coat.accent) - colors)
    owner = part_distances(body, points).argmin(0) - 1
    for mark in body.marks:
        inside = smoothstep(0.0, mark.blend, -blob_distance(mark, x, y, z))
        if mark.limb != ANYWHERE:
            inside = inside * (owner == mark.limb)
        colors = colors + inside[:, None] * (mark.color - colors)
    # Undersides a little darker: forms stay readable under flat light.
    return np.clip(colors * (1 + 0.05 * normals[:, 1:2]), 0, 1)


def _pattern(coat: Coat, points: Points, seed: int) -> Float[np.ndarray, "n"]:
    """How much of the accent colour shows, 0..1; points in body sizes."""
    rng = np.random.default_rng(seed + 7)
    if coat.pattern in ("spots", "net"):
        cells = _scatter(points, 0.062 if coat.pattern == "net" else 0.055, rng)
        near = np.sort(np.linalg.norm(points[:, None] - cells[None], axis=-1), axis=1)[:, :2]
        if coat.pattern == "net":
            # Giraffe: dark plates, light seams where two cells are equally near.
            return smoothstep(0.003, 0.014, near[:, 1] - near[:, 0])
        return smoothstep(0.018, 0.010, near[:, 0])
    # A few random waves: smooth, cheap, about ±1.
    waves = rng.normal(size=(12, 3)) * (5.0 if coat.pattern == "patches" else 3.0) * 2
    noise = np.sin(points @ waves.T + rng.uniform(0, 2 * np.pi, 12)).sum(1) / np.sqrt(6)
    if coat.pattern == "stripes":
        return smoothstep(-0.05, 0.5, np.sin(60 * points[:, 2] + 4 * noise + 6 * np.abs(points[:, 0])))
    return smoothstep(-0.02, 0.14, noise)


def _scatter(points: np.ndarray, spacing: float, rng: np.random.Generator) -> np.ndarray:
    """Some of the points, no two of them nearer than `spacing`."""
    chosen: list[np.ndarray] = []
    for point in points[rng.permutation(len(points))[: 60 * int(1 / spacing)]]:
        if not chosen or np.linalg.norm(np.array(chosen) - point, axis=1).min() > spacing:
            chosen.append(point)
    return np.array(chosen)
