"""Rays against triangles, by embree in single precision."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.geometry.surface import Faces, Vertices, face_areas_normals

PerRay = Float[np.ndarray, "rays"]
Rays = Float[np.ndarray, "rays 3"]
"""Origins, or directions of any length."""


class RayCaster:
    """An embree scene of one mesh; both sides of a face are hit."""

    def __init__(self, vertices: Vertices, faces: Faces) -> None:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        self._scene: Any = EmbreeScene()
        TriangleMesh(self._scene, np.ascontiguousarray(vertices, np.float32), np.ascontiguousarray(faces, np.int32))

    def hits(self, origins: Rays, directions: Rays) -> tuple[Int[np.ndarray, "rays"], Rays, PerRay]:
        """Face (-1: none), barycentric coordinates and distance, in lengths of the direction, of each first hit."""
        found = self._run(origins, directions, query="INTERSECT", output=True)
        u, v = found["u"].astype(np.float64), found["v"].astype(np.float64)
        return found["primID"], np.stack((1 - u - v, u, v), -1), found["tfar"].astype(np.float64)

    def distances(self, origins: Rays, directions: Rays) -> PerRay:
        """Distances to the first hits, in lengths of the directions; very large where nothing is hit."""
        return np.asarray(self._run(origins, directions, query="DISTANCE"), dtype=np.float64)

    def free(self, origins: Rays, directions: Rays, length: PerRay | None = None) -> Bool[np.ndarray, "rays"]:
        """Rays, of the given length or endless, that hit nothing."""
        limits = {} if length is None else {"dists": length.astype(np.float32)}
        return self._run(origins, directions, query="OCCLUDED", **limits) < 0

    def _run(self, origins: np.ndarray, directions: np.ndarray, **options: Any) -> Any:
        return self._scene.run(origins.astype(np.float32), directions.astype(np.float32), **options)


def exposure(vertices: Vertices, faces: Faces, *, rays: int = 24) -> Float[np.ndarray, "faces"]:
    """Share of the directions, on both sides of a face's centre, from which the face can be seen."""
    caster, (_, normal) = RayCaster(vertices, faces), face_areas_normals(vertices, faces)
    middle, lift = vertices[faces].mean(1), 1e-4 * float(np.ptp(vertices, axis=0).max())
    # Directions on a spiral, evenly over the sphere.
    k = np.arange(rays) + 0.5
    y, turn = 1 - 2 * k / rays, k * np.pi * (3 - np.sqrt(5))
    free = np.zeros(len(middle))
    for direction in np.stack((np.sqrt(1 - y * y) * np.cos(turn), y, np.sqrt(1 - y * y) * np.sin(turn)), -1):
        side = np.where(normal @ direction < 0, -lift, lift)[:, None]
        free += caster.free(middle + side * normal, np.tile(direction, (len(middle), 1)))
    return free / rays
