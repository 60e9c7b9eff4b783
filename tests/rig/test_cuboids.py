import numpy as np
import pytest

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.errors import KinemaError
from kinema.rig.cuboids import bone_cuboids


def box_with_two_bones(*, drop_faces: int = 0) -> Character:
    """A bar of 0.4 x 0.2 x 2 m along z: bone 0 carries z < 0, bone 1 the rest, bone 2 nothing."""
    import trimesh

    mesh = trimesh.creation.box((0.4, 0.2, 2.0)).subdivide().subdivide().subdivide()
    vertices = np.asarray(mesh.vertices)
    faces = np.asarray(mesh.faces)[drop_faces:]
    weights = np.zeros((len(vertices), 3))
    weights[:, 1] = vertices[:, 2] > 0
    weights[:, 0] = 1 - weights[:, 1]
    heads = np.array([[0.0, 0, -1], [0, 0, 0], [0, 0, 1]])
    tails = np.array([[0.0, 0, 0], [0, 0, 1], [0, 0, 1]])
    skeleton = Skeleton(("low", "high", "end"), (-1, 0, 1), heads, tails)
    return Character("bar", Mesh(vertices, faces, np.ones_like(vertices)), skeleton, weights)


def test_a_bar_gives_its_own_boxes_and_its_volume() -> None:
    cuboids = bone_cuboids(box_with_two_bones())
    np.testing.assert_allclose(cuboids.half_sizes[:2], [[0.2, 0.1, 0.5]] * 2, rtol=0.15)
    np.testing.assert_allclose(cuboids.centers[:2], [[0, 0, 0.5]] * 2, atol=0.08)
    # The parts of a partition of unity add up: sum_j ∫ w_j dV = V = 0.4 * 0.2 * 2.
    assert cuboids.volumes.sum() == pytest.approx(0.16, rel=0.03)
    np.testing.assert_allclose(cuboids.volumes, [0.08, 0.08, 0], atol=0.012)
    assert (cuboids.half_sizes > 0).all()


def test_axes_are_rotations_and_corners_follow_from_them() -> None:
    cuboids = bone_cuboids(box_with_two_bones())
    np.testing.assert_allclose(cuboids.axes @ cuboids.axes.transpose(0, 2, 1), np.eye(3)[None].repeat(3, 0), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(cuboids.axes), 1)
    corners = cuboids.corners
    np.testing.assert_allclose(corners.mean(axis=1), cuboids.centers, atol=1e-12)
    local = np.einsum("jcx,jxk->jck", corners - cuboids.centers[:, None], cuboids.axes)
    np.testing.assert_allclose(np.abs(local), cuboids.half_sizes[:, None].repeat(8, 1))


def test_boxes_turn_with_the_character() -> None:
    bar = box_with_two_bones()
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    assert bar.skeleton is not None
    turned = Skeleton(
        bar.skeleton.names, bar.skeleton.parents, bar.skeleton.heads @ turn.T, bar.skeleton.tails @ turn.T
    )
    mesh = Mesh(bar.mesh.vertices @ turn.T, bar.mesh.faces, bar.mesh.colors)
    one, other = bone_cuboids(bar), bone_cuboids(Character("turned", mesh, turned, bar.weights))
    np.testing.assert_allclose(other.half_sizes[:2], one.half_sizes[:2], atol=1e-9)
    np.testing.assert_allclose(other.centers[:2], one.centers[:2] @ turn.T, atol=1e-9)
    assert other.volumes.sum() == pytest.approx(0.16, rel=0.05)


def test_the_box_of_a_foot_stands_flat_on_the_ground() -> None:
    # A foot whose bone slants down: 0.1 wide, 0.06 high, 0.25 long, standing on y = 0.
    import trimesh

    shape = trimesh.creation.box((0.1, 0.06, 0.25)).subdivide().subdivide()
    vertices = np.asarray(shape.vertices) + [0.0, 0.03, 0.1]
    skeleton = Skeleton(("ankle",), (-1,), np.array([[0.0, 0.08, 0.0]]), np.array([[0.0, 0.0, 0.2]]))
    mesh = Mesh(vertices, np.asarray(shape.faces), np.ones_like(vertices))
    cuboids = bone_cuboids(Character("foot", mesh, skeleton, np.ones((len(vertices), 1))))
    corners = cuboids.corners[0] + skeleton.heads[0]
    np.testing.assert_allclose(corners.min(axis=0), vertices.min(axis=0), atol=0.004)
    np.testing.assert_allclose(corners.max(axis=0), vertices.max(axis=0), atol=0.004)
    np.testing.assert_allclose(cuboids.axes[0].T @ cuboids.axes[0], np.eye(3), atol=1e-12)
    assert np.linalg.det(cuboids.axes[0]) == pytest.approx(1)


def test_what_can_touch_lies_on_the_mesh_and_not_at_the_corners_of_its_box() -> None:
    # A shank that tapers from 0.1 m to a point over 0.5 m, slanting, and its foot, which stands on y = 0.
    import trimesh

    cone = trimesh.creation.cone(radius=0.1, height=0.5, sections=48).subdivide()
    turn = np.array([[1.0, 0, 0], [0, 0.6, -0.8], [0, -0.8, -0.6]])
    shank = np.asarray(cone.vertices) @ turn.T + [0.0, 0.9, 0.0]
    foot = trimesh.creation.icosphere(subdivisions=3, radius=0.05)
    sole = np.asarray(foot.vertices) + [0.0, 0.05, 0.5]
    vertices = np.concatenate((shank, sole))
    faces = np.concatenate((np.asarray(cone.faces), np.asarray(foot.faces) + len(shank)))
    weights = np.zeros((len(vertices), 2))
    weights[: len(shank), 0] = weights[len(shank) :, 1] = 1
    heads = np.array([[0.0, 0.9, 0.0], [0.0, 0.08, 0.5]])
    tails = np.array([[0.0, 0.5, -0.3], [0.0, 0.0, 0.5]])
    skeleton = Skeleton(("shank", "foot"), (-1, 0), heads, tails)
    cuboids = bone_cuboids(Character("leg", Mesh(vertices, faces, np.ones_like(vertices)), skeleton, weights))
    assert cuboids.surface is not None

    def room(points):
        """How far inside the cone's side x² + y² = (0.1 - z / 5)² points are [m]."""
        x, y, z = ((points + heads[0] - [0.0, 0.9, 0.0]) @ turn).T
        return 0.1 - z / 5 - np.hypot(x, y)

    assert room(cuboids.surface[0]).min() > -1e-6
    assert room(cuboids.corners[0]).min() < -0.05
    # A round foot stands on its lowest tenth: four points at its bottom, closer together than its corners.
    bottom = np.sort(cuboids.surface[1, :, 1] + heads[1, 1])[:4]
    np.testing.assert_allclose(bottom, 0.0, atol=2e-3)
    low = cuboids.surface[1][np.argsort(cuboids.surface[1, :, 1])[:4]]
    assert np.ptp(low[:, 0]) < 0.07


def test_an_open_mesh_keeps_most_of_its_volume_and_a_sheet_has_some() -> None:
    assert bone_cuboids(box_with_two_bones(drop_faces=8)).volumes.sum() == pytest.approx(0.16, rel=0.2)
    bar = box_with_two_bones()
    flat = Character(
        "sheet", Mesh(bar.mesh.vertices * [1, 0, 1], bar.mesh.faces, bar.mesh.colors), bar.skeleton, bar.weights
    )
    cuboids = bone_cuboids(flat)
    assert np.isfinite(cuboids.corners).all()
    assert (cuboids.volumes[:2] > 0).all()


def test_an_unrigged_character_is_refused() -> None:
    with pytest.raises(KinemaError, match="bar: bone cuboids need"):
        bone_cuboids(Character("bar", box_with_two_bones().mesh))
