import numpy as np
import trimesh

from kinema.geometry.rays import RayCaster, exposure


def test_a_ray_hits_the_square_at_its_distance() -> None:
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 3, 2]])
    caster = RayCaster(vertices, faces)
    origins, down = np.array([[0.75, 2.0, 0.25], [3.0, 2.0, 0.5]]), np.array([[0.0, -1, 0], [0, -1, 0]])
    face, barycentric, distance = caster.hits(origins, down)
    assert face.tolist() == [0, -1]
    np.testing.assert_allclose(barycentric[0] @ vertices[faces[0]], [0.75, 0, 0.25], atol=1e-6)
    np.testing.assert_allclose([distance[0], caster.distances(origins, down)[0]], 2)
    assert caster.distances(origins, down)[1] > 1e6
    assert caster.free(origins, down).tolist() == [False, True]
    assert caster.free(origins, down, np.array([1.9, 9.0])).tolist() == [True, True]


def test_a_convex_body_is_seen_from_everywhere_and_what_it_encloses_from_nowhere() -> None:
    # Each of the directions sees one side of a face of a convex body: half of them its outside.
    ball = trimesh.creation.icosphere(subdivisions=2)
    vertices, faces = np.asarray(ball.vertices), np.asarray(ball.faces)
    both = exposure(np.concatenate((vertices, 0.5 * vertices)), np.concatenate((faces, faces + len(vertices))))
    np.testing.assert_allclose(both[: len(faces)], 0.5, atol=0.1)
    assert (both[len(faces) :] == 0).all()
