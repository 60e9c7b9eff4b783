import numpy as np
import pytest
import trimesh

from kinema.errors import KinemaError
from kinema.geometry.contact import ContactMesh
from kinema.geometry.contact_twin import contact_pairs_twin


def two_balls(subdivisions: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Unit balls side by side, the second one 3 to the right."""
    ball = trimesh.creation.icosphere(subdivisions=subdivisions)
    vertices = np.concatenate((ball.vertices, ball.vertices + [3.0, 0.0, 0.0]))
    return vertices, np.concatenate((ball.faces, ball.faces + len(ball.vertices)))


def moved(vertices: np.ndarray, shift: float) -> np.ndarray:
    """The second ball, moved to the left, and a hair aside so that no edge lies in a plane of symmetry."""
    result = vertices.copy()
    result[len(vertices) // 2 :] -= [shift, 7e-3, 3e-3]
    return result


def test_balls_touch_from_the_sum_of_their_radii_on() -> None:
    vertices, faces = two_balls(3)
    mesh = ContactMesh.of(vertices, faces)
    poses = np.stack([moved(vertices, shift) for shift in (0.0, 0.99, 1.05, 1.5)])
    share = mesh.share(poses)
    # Distance of the centres 3 - shift < 2 is an overlap; an icosphere lies up to 1 % inside of its ball.
    assert share[0] == share[1] == 0
    assert 0 < share[2] < share[3] < 0.5


def test_contacts_are_those_of_the_intersection_circle() -> None:
    vertices, faces = two_balls(3)
    mesh = ContactMesh.of(vertices, faces)
    pose = moved(vertices, 2.0)
    touching = mesh.touching(mesh.pairs(pose[None]), 1)[0]
    # Two unit balls a distance d = 1 apart meet in the plane x = d / 2.
    centers = pose[faces[touching]].mean(1)
    assert touching.sum() > 50
    assert np.abs(centers[:, 0] - 0.5).max() < 0.12


def test_what_intersects_at_rest_is_no_contact() -> None:
    vertices, faces = two_balls()
    rest = moved(vertices, 2.5)
    mesh = ContactMesh.of(rest, faces)
    assert mesh.share(rest[None])[0] == 0
    assert mesh.share(moved(rest, -0.3)[None])[0] > 0  # other faces meet there


def test_neighbours_over_a_seam_are_no_contact() -> None:
    # Two triangles that meet in a corner given twice, as texture seams do, folded through each other.
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0.5], [0, 1, 0.5]], float)
    faces = np.array([[0, 1, 2], [3, 4, 5]])
    pose = vertices.copy()
    pose[3:] = [[0.2, 0.2, -1.0], [0.3, 0.2, 1.0], [0.2, 0.3, 1.0]]
    assert len(ContactMesh.of(vertices, faces).pairs(pose[None])) == 0
    apart = vertices + np.where(np.arange(6)[:, None] >= 3, [0, 0, 1.0], 0)
    assert ContactMesh.of(apart, faces).pairs(pose[None]).tolist() == [[0, 0, 1]]


def test_faces_near_each_other_at_rest_are_no_contact() -> None:
    vertices, faces = two_balls()
    pose = moved(vertices, 1.5)[None]
    # Centres of faces of the two balls are 1 to 5 apart at rest, of a size of 5.
    shares = [ContactMesh.of(vertices, faces, near=near).share(pose)[0] for near in (0.0, 0.21, 0.4, 1.1)]
    assert shares[0] >= shares[1] > shares[2] >= shares[3] == 0
    mesh = ContactMesh.of(vertices, faces, near=0.25)
    np.testing.assert_array_equal(mesh.pairs(pose), contact_pairs_twin(mesh, pose))


@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_finds_the_twins_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vertices, faces = two_balls()
    poses = np.stack([moved(vertices, s) + rng.normal(0, 0.05, vertices.shape) for s in (0.5, 1.2, 2.9)])
    mesh = ContactMesh.of(vertices + rng.normal(0, 0.02, vertices.shape), faces)
    found = mesh.pairs(poses)
    assert len(found) > 100
    np.testing.assert_array_equal(found, contact_pairs_twin(mesh, poses))


def test_random_triangles_have_the_twins_pairs_with_any_number_of_threads() -> None:
    rng = np.random.default_rng(7)
    corners = rng.uniform(size=(150, 1, 3)) + 0.2 * rng.normal(size=(150, 3, 3))
    faces = np.arange(450).reshape(-1, 3)
    mesh = ContactMesh.of(10 * np.arange(450)[:, None] * np.eye(3)[0] + corners.reshape(-1, 3), faces)
    poses = np.stack([corners.reshape(-1, 3), corners.reshape(-1, 3) * [1.0, 0.5, 1.0]])
    expected = contact_pairs_twin(mesh, poses)
    assert len(expected) > 200
    for threads in (1, 2):
        np.testing.assert_array_equal(mesh.pairs(poses, threads=threads), expected)


def test_a_mesh_without_faces_has_no_contacts() -> None:
    mesh = ContactMesh.of(np.zeros((0, 3)), np.zeros((0, 3), dtype=int))
    assert mesh.pairs(np.zeros((2, 0, 3))).shape == (0, 3)


def test_poses_of_another_mesh_and_nan_are_refused() -> None:
    vertices, faces = two_balls(1)
    mesh = ContactMesh.of(vertices, faces)
    with pytest.raises(KinemaError, match="do not fit"):
        mesh.pairs(vertices[None, :-1])
    bad = np.stack((vertices, vertices * np.nan))
    with pytest.raises(KinemaError, match="frame 1"):
        mesh.pairs(bad)
