"""Vertex colours: the nearest blob's, then marks, patterns and a little shading by height."""

import numpy as np
from jaxtyping import Float

from kinema.create.creatures.body import ANYWHERE, Body
from kinema.create.creatures.field import blob_distance, part_distances
from kinema.create.creatures.proportions import Coat
from kinema.create.creatures.weights import smoothstep


def paint(
    body: Body, coat: Coat, points: Float[np.ndarray, "n 3"], normals: Float[np.ndarray, "n 3"], *, seed: int
) -> Float[np.ndarray, "n 3"]:
    """sRGB colours of surface points."""
    x, y, z = points.T
    size = np.ptp(points, axis=0).max()
    d = np.stack([blob_distance(blob, x, y, z) for blob in body.blobs])
    share = np.exp(-(d - d.min(0)) / (0.006 * size))
    colors = np.einsum("bn,bc->nc", share / share.sum(0), np.stack([blob.color for blob in body.blobs]))
    if coat.pattern != "plain":
        amount = _pattern(coat, points / size, seed) * _close(colors, np.asarray(coat.base))
        colors = colors + amount[:, None] * (np.asarray(coat.accent) - colors)
    owner = part_distances(body, points).argmin(0) - 1
    for mark in body.marks:
        inside = smoothstep(0.0, mark.blend, -blob_distance(mark, x, y, z))
        if mark.limb != ANYWHERE:
            inside = inside * (owner == mark.limb)
        colors = colors + inside[:, None] * (mark.color - colors)
    # Undersides a little darker: forms stay readable under flat light.
    return np.clip(colors * (1 + 0.05 * normals[:, 1:2]), 0, 1)


def _close(colors: np.ndarray, base: np.ndarray) -> np.ndarray:
    """1 where the colour is the coat's base, so that patterns leave muzzle and socks alone."""
    return smoothstep(0.25, 0.05, np.linalg.norm(colors - base, axis=-1))


def _pattern(coat: Coat, points: Float[np.ndarray, "n 3"], seed: int) -> Float[np.ndarray, "n"]:
    """How much of the accent colour shows, 0..1; points in body sizes."""
    rng = np.random.default_rng(seed + 7)
    if coat.pattern in ("spots", "net"):
        density = 0.062 if coat.pattern == "net" else 0.055
        cells = _scatter(points, density, rng)
        near = np.sort(np.linalg.norm(points[:, None] - cells[None], axis=-1), axis=1)[:, :2]
        if coat.pattern == "net":
            # Giraffe: dark plates, light seams where two cells are equally near.
            return smoothstep(0.003, 0.014, near[:, 1] - near[:, 0])
        return smoothstep(0.018, 0.010, near[:, 0])
    noise = _noise(points, rng, frequency=5.0 if coat.pattern == "patches" else 3.0)
    if coat.pattern == "stripes":
        return smoothstep(-0.05, 0.5, np.sin(60 * points[:, 2] + 4 * noise + 6 * np.abs(points[:, 0])))
    return smoothstep(-0.02, 0.14, noise)


def _scatter(points: np.ndarray, spacing: float, rng: np.random.Generator) -> np.ndarray:
    """Some of the points, no two of them nearer than `spacing`."""
    order = rng.permutation(len(points))
    chosen: list[np.ndarray] = []
    for index in order[: 60 * int(1 / spacing)]:
        point = points[index]
        if not chosen or np.linalg.norm(np.array(chosen) - point, axis=1).min() > spacing:
            chosen.append(point)
    return np.array(chosen)


def _noise(points: np.ndarray, rng: np.random.Generator, *, frequency: float) -> np.ndarray:
    """A few random waves: smooth, cheap, about ±1."""
    waves = rng.normal(size=(12, 3)) * frequency * 2
    phase = rng.uniform(0, 2 * np.pi, 12)
    return np.sin(points @ waves.T + phase).sum(1) / np.sqrt(6)
