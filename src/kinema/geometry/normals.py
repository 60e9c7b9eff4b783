"""Normals of triangle meshes."""

import numpy as np

from kinema.geometry.surface import Faces, Vertices


def vertex_normals(vertices: Vertices, faces: Faces) -> Vertices:
    """Unit normals, faces weighted by area; +Y for vertices of no face."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    cross = np.cross(b - a, c - a)
    sums = [sum(np.bincount(faces[:, i], cross[:, k], len(vertices)) for i in range(3)) for k in range(3)]
    normal = np.stack(sums, -1)
    length = np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.where(length > 1e-20, normal / np.maximum(length, 1e-20), [0.0, 1.0, 0.0])
