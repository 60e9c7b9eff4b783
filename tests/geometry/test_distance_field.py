import numpy as np
import pytest
import trimesh

from kinema.geometry.distance_field import Solid, exact_distances, segments_inside
from kinema.geometry.distance_field_twin import DistanceField, exact_distances_twin, segments_inside_twin


def solid_of(shape: trimesh.Trimesh) -> Solid:
    return Solid.from_triangles(np.asarray(shape.vertices, dtype=np.float64), np.asarray(shape.faces))


def ball(subdivisions: int = 3, *, stretch: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> trimesh.Trimesh:
    sphere = trimesh.creation.icosphere(subdivisions=subdivisions)
    sphere.vertices *= stretch
    return sphere


def cross() -> trimesh.Trimesh:
    """Two boxes through each other, one of them thin, off the axes and with faces of very different sizes."""
    long, thin = trimesh.creation.box((2.0, 0.3, 0.4)), trimesh.creation.box((0.3, 1.5, 0.03))
    for _ in range(2):
        thin = thin.subdivide()
    both = trimesh.util.concatenate([long, thin])
    both.apply_transform(trimesh.transformations.random_rotation_matrix(np.array([0.2, 0.7, 0.4])))
    return both


def test_distance_to_a_ball_is_the_radius_less_one() -> None:
    points = np.random.default_rng(0).normal(size=(500, 3))
    radius = np.linalg.norm(points, axis=1)
    # The flat faces of the icosphere lie up to r (1 - cos of half an edge) inside of it.
    np.testing.assert_allclose(exact_distances(solid_of(ball(4)), points), radius - 1, atol=2e-3)


def test_the_sign_is_inside_or_outside_also_next_to_edges_and_corners() -> None:
    mesh = trimesh.creation.box((2.0, 2.0, 2.0))
    points = np.random.default_rng(1).uniform(-1.5, 1.5, (2000, 3))
    # Outside of a box: the length of the positive parts of |x| - 1; inside: its largest component.
    over = np.abs(points) - 1
    expected = np.linalg.norm(np.maximum(over, 0), axis=1) + np.minimum(over.max(axis=1), 0)
    np.testing.assert_allclose(exact_distances(solid_of(mesh), points), expected, atol=1e-12)


@pytest.mark.parametrize("mesh", [ball(), ball(2, stretch=(1.0, 3.0, 0.02)), cross()], ids=["ball", "plate", "cross"])
def test_the_kernel_has_the_twins_distances(mesh: trimesh.Trimesh) -> None:
    solid, rng = solid_of(mesh), np.random.default_rng(4)
    near = mesh.vertices[rng.integers(len(mesh.vertices), size=400)] + rng.normal(0, 0.02, (400, 3))
    points = np.concatenate((near, rng.uniform(-1.5, 1.5, (400, 3)), mesh.vertices[:50]))
    np.testing.assert_allclose(exact_distances(solid, points), exact_distances_twin(solid, points), atol=1e-12)


@pytest.mark.parametrize("mesh", [ball(2, stretch=(1.0, 3.0, 0.3)), cross()], ids=["bar", "cross"])
def test_the_kernel_and_the_twin_see_the_same(mesh: trimesh.Trimesh) -> None:
    # Random segments never touch the slack itself, so not one of them may differ.
    rng = np.random.default_rng(5)
    starts = mesh.vertices[rng.integers(len(mesh.vertices), size=40)]
    ends = 0.8 * mesh.vertices[rng.integers(len(mesh.vertices), size=40)] + rng.normal(0, 0.05, (40, 3))
    solid = solid_of(mesh)
    inside = segments_inside(solid, starts, ends)
    np.testing.assert_array_equal(inside, segments_inside_twin(solid, starts, ends))
    assert 0 < inside.mean() < 1


def test_a_segment_is_inside_exactly_where_it_stays_in_the_solid() -> None:
    # Two boxes with a gap between them: a segment within a box is inside, one across the gap is not.
    halls = trimesh.util.concatenate(
        [trimesh.creation.box((1, 1, 1), trimesh.transformations.translation_matrix([x, 0, 0])) for x in (-1, 1)]
    )
    solid = solid_of(halls)
    starts = np.array([[-1.4, 0.3, 0.0], [-1.4, 0.3, 0.0], [1.4, -0.4, 0.4]])
    ends = np.array([[-0.6, -0.4, 0.2], [0.7, 0.3, 0.0], [0.6, 0.4, -0.4]])
    assert segments_inside(solid, starts, ends).tolist() == [True, False, True]


@pytest.mark.parametrize("tolerance", [0.02, 0.005])
def test_the_field_errs_by_little_more_than_its_tolerance(tolerance: float) -> None:
    solid = solid_of(ball(2, stretch=(1.0, 2.0, 0.5)))
    field = DistanceField(solid, tolerance)
    points = np.random.default_rng(2).uniform(-1, 1, (800, 3)) * [1.0, 2.0, 0.5]
    exact = exact_distances(solid, points) / solid.edge
    near = exact < 0.05  # cells that lie wholly outside are not refined
    error = np.abs(field(solid.in_cube(points)) - exact)[near]
    assert error.max() < 3 * tolerance
    assert error.mean() < tolerance


def test_the_field_does_not_depend_on_what_was_asked_before() -> None:
    solid = solid_of(ball(1))
    points = np.random.default_rng(3).uniform(0, 1, (100, 3))
    field = DistanceField(solid)
    field(points[:7])
    np.testing.assert_array_equal(field(points), DistanceField(solid)(points))
