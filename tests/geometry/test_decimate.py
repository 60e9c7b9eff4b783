import numpy as np
import pytest
import trimesh

from kinema.geometry.decimate import decimate


def test_a_sphere_keeps_its_shape_with_fewer_vertices() -> None:
    ball = trimesh.creation.icosphere(subdivisions=5)  # 10,242 vertices
    vertices, faces, cell = decimate(np.asarray(ball.vertices), np.asarray(ball.faces), 2000)
    assert 1200 <= len(vertices) <= 2000
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 1, atol=0.02)
    assert len(cell) == len(ball.vertices)
    # Each old vertex is near the new one that stands for it.
    assert np.linalg.norm(vertices[cell] - ball.vertices, axis=1).max() < 0.15
    coarse = trimesh.Trimesh(vertices, faces, process=False)
    assert coarse.area == pytest.approx(ball.area, rel=0.05)
    assert len(np.unique(np.sort(faces, axis=1), axis=0)) == len(faces)


def test_a_small_mesh_stays_as_it_is() -> None:
    box = trimesh.creation.box()
    vertices, faces, cell = decimate(np.asarray(box.vertices), np.asarray(box.faces), 100)
    assert vertices is box.vertices or np.array_equal(vertices, box.vertices)
    assert np.array_equal(faces, box.faces)
    assert cell.tolist() == list(range(8))
