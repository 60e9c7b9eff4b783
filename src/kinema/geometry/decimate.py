"""A coarser mesh by clustering vertices in the cells of a grid: any triangles, in memory that grows with them only."""

import numpy as np
from jaxtyping import Float, Int

from kinema.geometry.surface import Faces, Values, Vertices, sum_by_group

ROUNDS = 8
"""Grids that are tried at most to come near the number of vertices."""


def decimate(
    vertices: Vertices, faces: Faces, count: int
) -> tuple[Float[np.ndarray, "coarse 3"], Int[np.ndarray, "fewer 3"], Int[np.ndarray, "vertices"]]:
    """A mesh of at most about `count` vertices, each the mean of those in a cell, and each old vertex's new one."""
    if len(vertices) <= count:
        return vertices, faces, np.arange(len(vertices))
    size = max(float(np.ptp(vertices, axis=0).max()), 1e-300)
    # A surface meets about as many cells as there are squares of the cell's side on it.
    step = size / np.sqrt(count)
    low, high = step / 16, size
    cell = cells(vertices, step)
    for _ in range(ROUNDS):
        found = int(cell.max()) + 1
        if 0.8 * count <= found <= count:
            break
        low, high = (step, high) if found > count else (low, step)
        step = float(np.clip(step * np.sqrt(found / (0.9 * count)), low, high))
        cell = cells(vertices, step)
    return cell_means(cell, vertices), faces_between(cell, faces), cell


def cell_means(cell: Int[np.ndarray, "vertices"], values: Values) -> Float[np.ndarray, "cells channels"]:
    """Mean of the values in each cell."""
    count = np.bincount(cell)
    return sum_by_group(cell, values, len(count)) / count[:, None]


def faces_between(cell: Int[np.ndarray, "vertices"], faces: Faces) -> Int[np.ndarray, "fewer 3"]:
    """Faces with cells for vertices, without those that collapse; of several that fall onto one, one is left."""
    faces = cell[faces]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return faces[np.sort(first)]


def cells(vertices: Vertices, step: float) -> Int[np.ndarray, "vertices"]:
    """Number of the cell of each vertex in a grid; only cells with vertices are numbered."""
    grid = np.floor((vertices - vertices.min(axis=0)) / step).astype(np.int64)
    key = (grid[:, 0] << 42) | (grid[:, 1] << 21) | grid[:, 2]
    return np.unique(key, return_inverse=True)[1].ravel()
