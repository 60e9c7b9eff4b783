import numpy as np
import trimesh

from kinema.geometry.laplacian import laplacian, robust_laplacian


def test_it_is_semidefinite_and_equals_the_robust_one_on_a_delaunay_mesh() -> None:
    ball = trimesh.creation.icosphere(subdivisions=2)
    vertices, faces = np.asarray(ball.vertices), np.asarray(ball.faces)
    stiffness, areas = laplacian(vertices, faces)
    dense = stiffness.toarray()  # type: ignore[attr-defined]
    np.testing.assert_allclose(dense @ np.ones(len(dense)), 0, atol=1e-12)  # constants do not flow
    assert np.linalg.eigvalsh(dense).min() > -1e-12
    robust, robust_areas = robust_laplacian(vertices, faces)
    np.testing.assert_allclose(dense, robust.toarray(), atol=1e-3)  # type: ignore[attr-defined]
    np.testing.assert_allclose(areas, robust_areas, rtol=1e-3)
