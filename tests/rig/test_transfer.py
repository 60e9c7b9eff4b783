import numpy as np
import pytest

from kinema.asset.character import Mesh
from kinema.errors import KinemaError
from kinema.rig.transfer import SurfaceTree, _nearest_in_triangle, nearest_on_surface, transfer_weights


def blob(seed: int = 0, *, subdivisions: int = 2) -> Mesh:
    """A bumpy sphere with faces of very different sizes."""
    import trimesh

    sphere = trimesh.creation.icosphere(subdivisions=subdivisions)
    vertices = np.asarray(sphere.vertices)
    vertices = vertices * (1 + 0.3 * np.sin(3 * vertices[:, :1])) * np.array([1.0, 3.0, 0.3])
    # One large face far away next to many small ones.
    far = np.array([[5.0, 0, 0], [5, 4, 0], [5, 0, 4]])
    faces = np.concatenate((np.asarray(sphere.faces), [[len(vertices), len(vertices) + 1, len(vertices) + 2]]))
    return Mesh(np.concatenate((vertices, far)), faces, np.ones((len(vertices) + 3, 3)))


def test_nearest_is_the_least_distance_over_all_faces() -> None:
    mesh, rng = blob(), np.random.default_rng(0)
    points = rng.normal(size=(400, 3)) * [3.0, 3.0, 2.0]
    got = SurfaceTree.from_mesh(mesh).nearest(points, chunk=64)
    triangles = mesh.vertices[mesh.faces]
    for point, distance in zip(points, got.distances, strict=True):
        _, squared = _nearest_in_triangle(np.broadcast_to(point, (len(triangles), 3)), triangles)
        assert distance == pytest.approx(np.sqrt(squared.min()), abs=1e-12)
    place = got.interpolate(mesh, mesh.vertices)
    np.testing.assert_allclose(np.linalg.norm(place - points, axis=1), got.distances, atol=1e-9)


def test_the_foot_in_a_triangle_satisfies_its_optimality_condition() -> None:
    # x is nearest in a convex set iff (p - x)·(y - x) <= 0 for every y in it; corners suffice for a triangle.
    rng = np.random.default_rng(1)
    triangles, points = rng.normal(size=(5000, 3, 3)), 2 * rng.normal(size=(5000, 3))
    place, squared = _nearest_in_triangle(points, triangles)
    np.testing.assert_allclose(((points - place) ** 2).sum(-1), squared, atol=1e-12)
    slope = ((points - place)[:, None] * (triangles - place[:, None])).sum(-1)
    assert slope.max() < 1e-9


def test_weights_linear_in_space_are_reproduced_on_the_surface() -> None:
    # Barycentric interpolation is exact for affine functions.
    mesh, rng = blob(), np.random.default_rng(2)
    faces = rng.integers(0, len(mesh.faces), 300)
    share = rng.dirichlet((1, 1, 1), 300)
    points = np.einsum("pk,pkx->px", share, mesh.vertices[mesh.faces[faces]])

    def weights(x: np.ndarray) -> np.ndarray:
        first = 0.5 + 0.05 * x @ [1.0, -1.0, 0.5]
        return np.stack((first, 1 - first), -1)

    np.testing.assert_allclose(transfer_weights(mesh, weights(mesh.vertices), points), weights(points), atol=1e-9)


def test_degenerate_faces_do_no_harm() -> None:
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]])
    mesh = Mesh(vertices, np.array([[0, 1, 2], [0, 0, 0], [0, 1, 3]]), np.ones((4, 3)))
    got = nearest_on_surface(mesh, np.array([[1.5, -1.0, 0.0], [0.2, 0.2, 1.0]]))
    np.testing.assert_allclose(got.distances, [1, 1])
    np.testing.assert_allclose(got.interpolate(mesh, vertices), [[1.5, 0, 0], [0.2, 0.2, 0]], atol=1e-12)


def test_a_mesh_without_faces_is_refused() -> None:
    with pytest.raises(KinemaError, match="no faces"):
        transfer_weights(
            Mesh(np.zeros((2, 3)), np.zeros((0, 3), int), np.ones((2, 3))), np.ones((2, 1)), np.zeros((1, 3))
        )
