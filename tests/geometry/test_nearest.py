import numpy as np
import pytest
import trimesh

from kinema.errors import KinemaError
from kinema.geometry.nearest import SurfaceTree, nearest_in_triangles


def blob() -> tuple[np.ndarray, np.ndarray]:
    """A bumpy flat ellipsoid, one large face far away, and long thin faces all over it."""
    sphere = trimesh.creation.icosphere(subdivisions=2)
    vertices = np.asarray(sphere.vertices)
    vertices = vertices * (1 + 0.3 * np.sin(3 * vertices[:, :1])) * np.array([1.0, 3.0, 0.3])
    far = np.array([[5.0, 0, 0], [5, 4, 0], [5, 0, 4]])
    rng = np.random.default_rng(3)
    thin = rng.normal(size=(30, 3)) * np.repeat([0.1, 3.0], 15)[:, None]
    more = len(vertices) + np.concatenate(([[0, 1, 2]], 3 + rng.permutation(30).reshape(10, 3)))
    return np.concatenate((vertices, far, thin)), np.concatenate((np.asarray(sphere.faces), more))


def distances(vertices: np.ndarray, faces: np.ndarray, points: np.ndarray) -> np.ndarray:
    found = SurfaceTree.from_triangles(vertices, faces).nearest(points)
    assert (found.barycentric >= 0).all()
    np.testing.assert_allclose(found.barycentric.sum(-1), 1)
    return np.linalg.norm(found.interpolate(faces, vertices) - points, axis=1)


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_nearest_is_the_least_distance_over_all_faces(scale: float) -> None:
    vertices, faces = blob()
    points = np.random.default_rng(0).normal(size=(400, 3)) * [3.0, 3.0, 2.0]
    every = [
        nearest_in_triangles(points, np.broadcast_to(triangle, (len(points), 3, 3)))[1] for triangle in vertices[faces]
    ]
    found = distances(scale * vertices, faces, scale * points)
    np.testing.assert_allclose(found, scale * np.sqrt(np.min(every, axis=0)), atol=1e-12 * scale)


def test_the_nearest_point_of_a_triangle_satisfies_its_optimality_condition() -> None:
    # x is nearest in a convex set iff (p - x)·(y - x) <= 0 for every y in it; corners suffice for a triangle.
    rng = np.random.default_rng(1)
    triangles, points = rng.normal(size=(5000, 3, 3)), 2 * rng.normal(size=(5000, 3))
    share, squared = nearest_in_triangles(points, triangles)
    place = np.einsum("pk,pkx->px", share, triangles)
    np.testing.assert_allclose(((points - place) ** 2).sum(-1), squared, atol=1e-12)
    slope = ((points - place)[:, None] * (triangles - place[:, None])).sum(-1)
    assert slope.max() < 1e-9


def test_a_point_that_is_equally_far_from_every_face_is_decided() -> None:
    sphere = trimesh.creation.icosphere(subdivisions=2)
    centre = distances(np.asarray(sphere.vertices), np.asarray(sphere.faces), np.zeros((50, 3)))
    assert centre == pytest.approx(np.full(50, np.linalg.norm(sphere.triangles_center, axis=1).min()), abs=0.01)


def test_degenerate_faces_do_no_harm() -> None:
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]])
    faces = np.array([[0, 1, 2], [0, 0, 0], [0, 1, 3]])
    found = SurfaceTree.from_triangles(vertices, faces).nearest(np.array([[1.5, -1.0, 0.0], [0.2, 0.2, 1.0]]))
    np.testing.assert_allclose(found.interpolate(faces, vertices), [[1.5, 0, 0], [0.2, 0.2, 0]], atol=1e-12)


def test_a_mesh_without_faces_is_refused() -> None:
    with pytest.raises(KinemaError, match="no faces"):
        SurfaceTree.from_triangles(np.zeros((2, 3)), np.zeros((0, 3), int))
