"""The slow twin of `native/contact`: every pair of faces whose boxes overlap, by the same signs in double precision."""

import numpy as np
from jaxtyping import Bool, Float

from kinema.geometry.contact import ContactMesh, Pairs, Poses

Corners = Float[np.ndarray, "pairs 3 3"]


def contact_pairs_twin(mesh: ContactMesh, poses: Poses) -> Pairs:
    """Contacts of every pose, as `ContactMesh.pairs` gives them."""
    at_rest = {tuple(pair) for pair in _intersecting(mesh, mesh.rest).tolist()}
    rows = [
        (frame, *pair)
        for frame, vertices in enumerate(poses)
        for pair in _intersecting(mesh, vertices).tolist()
        if tuple(pair) not in at_rest
    ]
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def _intersecting(mesh: ContactMesh, vertices: np.ndarray) -> np.ndarray:
    corners, place = vertices[mesh.faces], mesh.place[mesh.faces]
    low, high = corners.min(1), corners.max(1)
    apart = (low[:, None] > high[None]).any(-1)
    first, second = np.nonzero(np.triu(~(apart | apart.T), 1))
    shared = (place[first][:, :, None] == place[second][:, None, :]).any((1, 2))
    centers = mesh.rest[mesh.faces].mean(1)
    shared |= np.square(centers[first] - centers[second]).sum(-1) < mesh.near**2
    first, second = first[~shared], second[~shared]
    hit = triangles_intersect(corners[first], corners[second])
    return np.stack((first[hit], second[hit]), -1)


def triangles_intersect(a: Corners, b: Corners) -> Bool[np.ndarray, "pairs"]:
    """An edge of one crosses the inside of the other; faces in one plane do not intersect."""
    found = np.zeros(len(a), dtype=bool)
    for triangle, other in ((a, b), (b, a)):
        of_other = [_side(triangle[:, 0], triangle[:, 1], triangle[:, 2], other[:, k]) for k in range(3)]
        for k in range(3):
            p, q = other[:, k], other[:, (k + 1) % 3]
            around = np.stack([_side(p, q, triangle[:, i], triangle[:, (i + 1) % 3]) for i in range(3)])
            through = (around > 0).all(0) | (around < 0).all(0)
            found |= (of_other[k] * of_other[(k + 1) % 3] < 0) & through
    return found


def _side(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Six times the signed volume of the tetrahedron."""
    return (np.cross(b - a, c - a) * (d - a)).sum(-1)
