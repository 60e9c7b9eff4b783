import numpy as np
import pytest
import trimesh

from kinema.asset.character import Mesh
from kinema.rig.distance_field import DistanceField, SignedDistance


def ball(subdivisions: int = 3, *, stretch: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Mesh:
    sphere = trimesh.creation.icosphere(subdivisions=subdivisions)
    vertices = np.asarray(sphere.vertices) * stretch
    return Mesh(vertices, np.asarray(sphere.faces), np.ones_like(vertices))


def test_distance_to_a_ball_is_the_radius_less_one() -> None:
    points = np.random.default_rng(0).normal(size=(500, 3))
    radius = np.linalg.norm(points, axis=1)
    # The flat faces of the icosphere lie up to r (1 - cos of half an edge) inside of it.
    np.testing.assert_allclose(SignedDistance.from_mesh(ball(4))(points), radius - 1, atol=2e-3)


def test_the_sign_is_inside_or_outside_also_next_to_edges_and_corners() -> None:
    box = trimesh.creation.box((2.0, 2.0, 2.0))
    mesh = Mesh(np.asarray(box.vertices), np.asarray(box.faces), np.ones((8, 3)))
    points = np.random.default_rng(1).uniform(-1.5, 1.5, (2000, 3))
    # Outside of a box: the length of the positive parts of |x| - 1; inside: its largest component.
    over = np.abs(points) - 1
    expected = np.linalg.norm(np.maximum(over, 0), axis=1) + np.minimum(over.max(axis=1), 0)
    np.testing.assert_allclose(SignedDistance.from_mesh(mesh)(points), expected, atol=1e-12)


@pytest.mark.parametrize("tolerance", [0.02, 0.005])
def test_the_field_errs_by_little_more_than_its_tolerance(tolerance: float) -> None:
    mesh = ball(2, stretch=(1.0, 2.0, 0.5))
    field = DistanceField.around(mesh, tolerance=tolerance)
    points = np.random.default_rng(2).uniform(-1, 1, (800, 3)) * [1.0, 2.0, 0.5]
    exact = field.exact(points) / field.edge
    near = exact < 0.05  # cells that lie wholly outside are not refined
    error = np.abs(field(points) - exact)[near]
    assert error.max() < 3 * tolerance
    assert error.mean() < tolerance


def test_the_field_does_not_depend_on_what_was_asked_before() -> None:
    mesh = ball(1)
    points = np.random.default_rng(3).uniform(-1, 1, (300, 3))
    field = DistanceField.around(mesh)
    field(points[:7])
    np.testing.assert_array_equal(field(points), DistanceField.around(mesh)(points))
