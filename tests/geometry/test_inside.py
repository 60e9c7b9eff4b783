import numpy as np
import pytest
import trimesh

from kinema.geometry.inside import fill, voxelize


@pytest.mark.parametrize(("torn", "tolerance"), [(0, 0.03), (30, 0.1)])
def test_voxels_have_the_volume_of_the_mesh_even_when_it_is_open(torn: int, tolerance: float) -> None:
    ball = trimesh.creation.icosphere(subdivisions=3)
    inside, _, step = voxelize(np.asarray(ball.vertices), np.asarray(ball.faces)[torn:], cells=40)
    assert inside.sum() * step**3 == pytest.approx(4 / 3 * np.pi, rel=tolerance)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_points_that_fill_a_box_have_its_moments(axis: int) -> None:
    # ∫ dV = 8 abc, ∫ x dV = centre · V, ∫ (x - centre)² dV = a² / 3 · V for half sizes a, b, c.
    half, centre = np.array([1.0, 0.5, 0.3]), np.array([2.0, -1.0, 0.5])
    box = trimesh.creation.box(2 * half, trimesh.transformations.translation_matrix(centre))
    points, volumes = fill(np.asarray(box.vertices), np.asarray(box.faces), axis, columns=48)
    assert volumes.sum() == pytest.approx(8 * half.prod(), rel=1e-6)
    np.testing.assert_allclose(volumes @ points / volumes.sum(), centre, atol=0.01)
    np.testing.assert_allclose(volumes @ (points - centre) ** 2 / volumes.sum(), half**2 / 3, rtol=0.02)


def test_a_ray_through_a_hole_fills_nothing() -> None:
    # Without the two triangles of its top, a box is open upwards: vertical rays enter and do not leave.
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    open_box = np.asarray(box.faces)[box.face_normals[:, 1] < 0.5]
    assert len(fill(np.asarray(box.vertices), open_box, 1, columns=16)[0]) == 0
    assert fill(np.asarray(box.vertices), open_box, 0, columns=16)[1].sum() == pytest.approx(1)
