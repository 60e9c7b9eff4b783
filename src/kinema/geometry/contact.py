"""Faces of a mesh that intersect each other in a pose and do not at rest.

`native/contact` finds them with a tree of boxes that is refitted to every pose; `contact_twin.py` compares all pairs.
Two faces intersect where an edge of one crosses the inside of the other. Faces that share a place at rest are
neighbours and never a contact, and pairs that intersect at rest are how the body was modelled. Nor are faces contacts
that are near each other at rest, where a distance `near` is given: the crease of an elbow, a shirt on its body.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from kinema.errors import KinemaError
from kinema.geometry.surface import Faces, Vertices

Poses = Float[np.ndarray, "frames vertices 3"]
Pairs = Int[np.ndarray, "pairs 3"]
"""Frame, face and face of each contact, in ascending order, the lower face first."""
SAME_PLACE = 1e-6
"""Distance up to which vertices are one place, as a share of the mesh's size."""


@dataclass(frozen=True)
class ContactMesh:
    """A mesh at rest whose poses are looked at."""

    faces: Faces
    rest: Vertices
    place: Int[np.ndarray, "vertices"]
    """Number of the place at rest of each vertex: seams of textures have several vertices at one place."""
    near: float = 0.0
    """Faces whose centres are less apart than this at rest are no contact [m]."""

    @staticmethod
    def of(vertices: Vertices, faces: Faces, *, near: float = 0.0) -> "ContactMesh":
        """`near` is a share of the mesh's size here."""
        if len(faces) and not np.isfinite(vertices).all():
            raise KinemaError("a mesh with vertices that are not finite has no contacts")
        rest = np.ascontiguousarray(vertices, np.float64)
        size = float(np.ptp(rest, axis=0).max()) if len(rest) else 1.0
        rounded = np.round(rest / max(SAME_PLACE * size, 1e-300)).astype(np.int64)
        place = np.unique(rounded, axis=0, return_inverse=True)[1].ravel()
        return ContactMesh(np.ascontiguousarray(faces, np.int32), rest, place.astype(np.int32), near * size)

    @cached_property
    def _tree(self) -> Any:
        from kinema import _contact

        return _contact.SelfContact(self.faces, self.place, self.rest, self.near)

    def pairs(self, poses: Poses, *, threads: int = 1) -> Pairs:
        """Contacts of every pose."""
        if poses.shape[1:] != self.rest.shape:
            raise KinemaError(f"poses of {poses.shape[1]} vertices do not fit a mesh of {len(self.rest)}")
        poses = np.ascontiguousarray(poses, np.float64)
        if not np.isfinite(poses).all():
            frame = int(np.flatnonzero(~np.isfinite(poses).all((1, 2)))[0])
            raise KinemaError(f"frame {frame} has vertices that are not finite")
        try:
            return self._tree.pairs(poses, threads)
        except ImportError as error:
            from kinema.geometry.contact_twin import contact_pairs_twin

            warnings.warn(f"no native contacts ({error}); in numpy they take a thousand times as long", stacklevel=3)
            return contact_pairs_twin(self, poses)

    def touching(self, pairs: Pairs, frames: int) -> Bool[np.ndarray, "frames faces"]:
        """True for faces that are part of a contact."""
        result = np.zeros((frames, len(self.faces)), dtype=bool)
        result[pairs[:, 0], pairs[:, 1]] = True
        result[pairs[:, 0], pairs[:, 2]] = True
        return result

    def share(self, poses: Poses, *, threads: int = 1) -> Float[np.ndarray, "frames"]:
        """Share of the faces that are part of a contact in each pose."""
        return self.touching(self.pairs(poses, threads=threads), len(poses)).mean(1)
