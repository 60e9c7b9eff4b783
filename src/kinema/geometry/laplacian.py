"""The Laplacian of a triangle surface."""

import numpy as np
from jaxtyping import Float

from kinema.geometry.surface import Faces, Vertices

Areas = Float[np.ndarray, "vertices"]


def laplacian(vertices: Vertices, faces: Faces) -> tuple[object, Areas]:
    """Cotangent stiffness matrix S (sparse, positive semi-definite) and lumped areas M [m²].

    Closed and manifold meshes give the textbook cotangents; others go through the robust Laplacian.
    """
    from scipy.sparse import coo_array, diags_array

    count = len(vertices)
    if len(faces) == 0:
        return coo_array((count, count)), np.ones(count)
    corners = vertices[faces].astype(np.float64)
    edges = np.roll(corners, -1, axis=1) - corners
    double_area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    # Closed and manifold: every directed edge occurs once and its reverse once.
    a, b = faces.ravel().astype(np.int64), np.roll(faces, -1, axis=1).ravel().astype(np.int64)
    forward, backward = np.sort(a * count + b), np.sort(b * count + a)
    closed = (forward[1:] != forward[:-1]).all() and (forward == backward).all()
    if not closed or double_area.min() <= 1e-10 * double_area.max():
        return robust_laplacian(vertices, faces)
    # The angle at corner k lies between edge k and edge k - 1 reversed; it belongs to the edge opposite.
    half_cot = -(edges * np.roll(edges, 1, axis=1)).sum(axis=2) / double_area[:, None] / 2
    i, j = np.roll(faces, -1, axis=1).ravel(), np.roll(faces, -2, axis=1).ravel()
    off = coo_array((np.tile(half_cot.ravel(), 2), (np.r_[i, j], np.r_[j, i])), shape=(count, count)).tocsc()
    areas = np.bincount(faces.ravel(), np.repeat(double_area / 6, 3), minlength=count)
    return diags_array(np.asarray(off.sum(axis=0)).ravel()) - off, _positive(areas)


def robust_laplacian(vertices: Vertices, faces: Faces) -> tuple[object, Areas]:
    """The same of the tufted cover (Sharp and Crane 2020), which is defined for any triangles."""
    from robust_laplacian import mesh_laplacian

    stiffness, mass = mesh_laplacian(np.asarray(vertices, np.float64), faces.astype(np.int64))
    return stiffness, _positive(mass.diagonal())


def _positive(areas: Areas) -> Areas:
    """Areas with a floor: vertices without faces have none, but what is weighted by it must count."""
    return np.maximum(areas, 1e-12 * float(areas.max()))
