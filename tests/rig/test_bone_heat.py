from pathlib import Path

import numpy as np
import pytest
import trimesh

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.errors import KinemaError
from kinema.rig.weights.bone_heat import HEAT, Bones, Visibility, bone_heat, rig_character


def as_mesh(shape: trimesh.Trimesh) -> Mesh:
    vertices = np.asarray(shape.vertices, dtype=np.float64)
    return Mesh(vertices, np.asarray(shape.faces), np.ones_like(vertices))


def bar(subdivisions: int = 3) -> Mesh:
    """A long ellipsoid along x, half lengths 3, 0.5 and 0.4."""
    sphere = trimesh.creation.icosphere(subdivisions=subdivisions)
    sphere.vertices *= [3.0, 0.5, 0.4]
    return as_mesh(sphere)


STARTS = np.array([[-2.5, 0, 0], [-0.98, 0, 0], [0.98, 0, 0]])
ENDS = np.array([[-0.98, 0, 0], [0.98, 0, 0], [2.5, 0, 0]])


def pinocchio(folder: Path, name: str) -> tuple[Mesh, np.ndarray, np.ndarray, np.ndarray]:
    """Mesh, bone ends (joint i + 1 and its parent) and the original program's weights."""
    folder = folder / "reference" / "pinocchio"
    stem = "pinocchio_test_human" if name == "human" else f"{name}_welded"
    mesh = as_mesh(trimesh.load(folder / f"{stem}.obj", process=False))
    skeleton = np.loadtxt(folder / f"{'pinocchio_test_human_fit' if name == 'human' else name}_skeleton.txt")
    if name == "human":
        weights = np.loadtxt(folder / "pinocchio_test_human_fit_weights.txt")
    else:
        weights = np.load(folder / f"{name}_weights.npz")["pinocchio"]
    heads, parents = skeleton[:, 1:4], skeleton[:, 4].astype(int)
    return mesh, heads[1:], heads[parents[1:]], weights


def agreement(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Share of vertices with the same top bone, and the mean over vertices of half the L1 distance."""
    same = float((ours.argmax(axis=1) == theirs.argmax(axis=1)).mean())
    return same, float(np.abs(ours - theirs).sum(axis=1).mean() / 2)


@pytest.mark.parametrize("name", ["human", "fox", "trex"])
def test_weights_are_those_of_the_original_pinocchio(shared_data: Path, name: str) -> None:
    mesh, starts, ends, theirs = pinocchio(shared_data, name)
    same, half_l1 = agreement(bone_heat(mesh, starts, ends), theirs)
    assert same == 1.0
    assert half_l1 < 0.001
    # Rays ask the mesh itself; Pinocchio's distance field takes sharp convex vertices for hidden.
    same, half_l1 = agreement(bone_heat(mesh, starts, ends, visibility="rays"), theirs)
    assert same > 0.98
    assert half_l1 < 0.04


def test_the_solution_satisfies_the_heat_equation() -> None:
    # (S + M H) w = M H p row by row, with S and M from a loop over the faces. The right angles of a cut box have no
    # negative cotangents, so nothing is clipped.
    box = trimesh.creation.box((6.0, 1.0, 1.0))
    for _ in range(4):
        box = box.subdivide()
    mesh = as_mesh(box)
    weights = bone_heat(mesh, STARTS, ENDS)
    count = len(mesh.vertices)
    stiffness, areas = np.zeros((count, count)), np.zeros(count)
    for face in mesh.faces:
        for a, b, c in (np.roll(face, k) for k in range(3)):
            u, v = mesh.vertices[b] - mesh.vertices[a], mesh.vertices[c] - mesh.vertices[a]
            cross = np.linalg.norm(np.cross(u, v))
            cot = u @ v / cross / 2
            stiffness[b, c] -= cot
            stiffness[c, b] -= cot
            stiffness[b, b] += cot
            stiffness[c, c] += cot
            areas[a] += cross / 6
    x = mesh.vertices[:, 0]
    nearest = np.clip(x, -2.5, 2.5)
    distance = np.linalg.norm(mesh.vertices - np.stack((nearest, 0 * x, 0 * x), -1), axis=1)
    # Vertices in the middle of the four long sides see their bone straight behind them.
    on_edge = (np.abs(np.abs(mesh.vertices[:, 1:]) - 0.5) < 1e-9).sum(axis=1) != 1
    bone = (x > -0.98).astype(int) + (x > 0.98)
    clear = ~on_edge & (np.abs(x) < 2.5)
    heat = HEAT * areas / distance**2
    residual = stiffness @ weights + heat[:, None] * (weights - np.eye(3)[bone])
    scale = np.abs(stiffness).sum(axis=1) + heat
    assert clear.mean() > 0.4
    assert (np.abs(residual).max(axis=1) / scale)[clear].max() < 1e-7


def test_rows_are_a_partition_of_unity_and_mirror_with_the_mesh() -> None:
    mesh = bar()
    weights = bone_heat(mesh, STARTS, ENDS)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights.min() >= 0
    mirrored = bone_heat(Mesh(mesh.vertices * [-1, 1, 1], mesh.faces[:, ::-1], mesh.colors), STARTS, ENDS)
    np.testing.assert_allclose(mirrored[:, ::-1], weights, atol=1e-9)


@pytest.mark.parametrize("visibility", ["field", "rays"])
def test_weights_do_not_change_with_a_similarity(visibility: Visibility) -> None:
    mesh, rng = bar(), np.random.default_rng(0)
    # The field's cells lie along the axes, so only rays can be asked to forget a rotation.
    rotation = np.eye(3) if visibility == "field" else np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation *= np.linalg.det(rotation)

    def move(x: np.ndarray) -> np.ndarray:
        return 37.0 * x @ rotation.T + [5.0, -2.0, 9.0]

    moved = Mesh(move(mesh.vertices), mesh.faces, mesh.colors)
    weights = bone_heat(moved, move(STARTS), move(ENDS), visibility=visibility)
    np.testing.assert_allclose(weights, bone_heat(mesh, STARTS, ENDS, visibility=visibility), atol=1e-6)


def test_seams_do_not_stop_the_heat() -> None:
    # Files split vertices along texture seams; here every face has its own three.
    mesh = bar()
    soup = Mesh(
        mesh.vertices[mesh.faces].reshape(-1, 3),
        np.arange(mesh.faces.size).reshape(-1, 3),
        np.ones((mesh.faces.size, 3)),
    )
    expected = bone_heat(mesh, STARTS, ENDS)[mesh.faces.ravel()]
    np.testing.assert_allclose(bone_heat(soup, STARTS, ENDS), expected, atol=1e-9)


def bad_meshes() -> dict[str, Mesh]:
    mesh = bar(2)
    v, f = mesh.vertices, mesh.faces
    fin = np.array([[0.0, 0.0, 3.0]])
    box = trimesh.creation.box((1.0, 3.0, 1.0)).subdivide().subdivide()
    crossing = np.concatenate((v, np.asarray(box.vertices)))
    return {
        "open": Mesh(v, f[: len(f) // 2], mesh.colors),
        "three faces on an edge": Mesh(np.r_[v, fin], np.r_[f, [[f[0, 0], f[0, 1], len(v)]]], np.ones((len(v) + 1, 3))),
        "self-intersecting": Mesh(crossing, np.r_[f, np.asarray(box.faces) + len(v)], np.ones_like(crossing)),
        "face twice": Mesh(v, np.r_[f, f[:5]], mesh.colors),
        "face reversed": Mesh(v, np.r_[f[:5, ::-1], f[5:]], mesh.colors),
        "faces without area": Mesh(v, np.r_[f, [[0, 0, 1], [2, 2, 2]]], mesh.colors),
        "sliver": Mesh(
            np.r_[v, [(v[f[0, 0]] + v[f[0, 1]]) / 2]], np.r_[f, [[f[0, 0], f[0, 1], len(v)]]], np.ones((len(v) + 1, 3))
        ),
        "vertices without face": Mesh(np.r_[v, [[9.0, 0, 0], [0, 0, 0]]], f, np.ones((len(v) + 2, 3))),
        "no faces": Mesh(v, f[:0], mesh.colors),
        "inside out": Mesh(v, f[:, ::-1], mesh.colors),
    }


@pytest.mark.parametrize("visibility", ["field", "rays"])
@pytest.mark.parametrize("what", sorted(bad_meshes()))
def test_bad_meshes_still_get_weights(what: str, visibility: Visibility) -> None:
    mesh = bad_meshes()[what]
    weights = bone_heat(mesh, STARTS, ENDS, visibility=visibility)
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    # Far out on either side the outer bones win.
    tips = np.abs(mesh.vertices[:, 0]) > 1.8
    expected = np.where(mesh.vertices[:, 0] < 0, 0, 2)
    assert (weights.argmax(axis=1) == expected)[tips].mean() > 0.9


def test_a_part_that_sees_no_bone_follows_the_nearest() -> None:
    # An eye inside the head and a hat above it: no bone is visible from either.
    mesh = bar()
    eye = trimesh.creation.icosphere(subdivisions=1, radius=0.1)
    eye.vertices += [2.4, 0.2, 0.0]
    hat = trimesh.creation.icosphere(subdivisions=1, radius=0.2)
    hat.vertices += [-2.0, 2.0, 0.0]
    parts = [(mesh.vertices, mesh.faces), (eye.vertices, eye.faces), (hat.vertices, hat.faces)]
    vertices = np.concatenate([np.asarray(v) for v, _ in parts])
    starts = np.cumsum([0] + [len(v) for v, _ in parts])
    faces = np.concatenate([np.asarray(f) + s for (_, f), s in zip(parts, starts)])
    weights = bone_heat(Mesh(vertices, faces, np.ones_like(vertices)), STARTS, ENDS)
    np.testing.assert_allclose(weights[starts[1] : starts[2], 2], 1, atol=1e-6)
    np.testing.assert_allclose(weights[starts[2] : starts[3], 0], 1, atol=1e-6)
    # Between convex neighbours of one bar the eye changes nothing beyond its shadow.
    alone = bone_heat(mesh, STARTS, ENDS)
    assert np.abs(weights[: starts[1]] - alone).sum(axis=1).mean() < 0.02


def test_bones_may_be_points_and_one_bone_takes_all() -> None:
    mesh = bar()
    weights = bone_heat(mesh, STARTS, STARTS)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (bone_heat(mesh, STARTS[:1], ENDS[:1]) == 1).all()
    with pytest.raises(KinemaError, match="at least one bone"):
        bone_heat(mesh, STARTS[:0], ENDS[:0])


def test_meshes_without_extent_get_weights_and_those_without_vertices_an_error() -> None:
    dot = Mesh(np.zeros((3, 3)), np.array([[0, 1, 2]]), np.ones((3, 3)))
    np.testing.assert_allclose(bone_heat(dot, STARTS, ENDS).sum(axis=1), 1)
    with pytest.raises(KinemaError, match="no vertices"):
        bone_heat(Mesh(np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros((0, 3))), STARTS, ENDS)


def test_a_vertex_needs_at_least_one_joint() -> None:
    skeleton = Skeleton(("a",), (-1,), np.zeros((1, 3)), np.ones((1, 3)))
    with pytest.raises(KinemaError, match="0 joints per vertex"):
        rig_character(Character("bar", bar()), skeleton, influences=0)


def test_a_bone_that_is_not_finite_is_named() -> None:
    with pytest.raises(KinemaError, match="bone 1 is not finite"):
        bone_heat(bar(), STARTS + [[0], [np.inf], [0]], ENDS)


def test_a_vertex_that_is_not_finite_is_named() -> None:
    mesh = bar()
    vertices = mesh.vertices.copy()
    vertices[17, 1] = np.nan
    with pytest.raises(KinemaError, match="vertex 17"):
        bone_heat(Mesh(vertices, mesh.faces, mesh.colors), STARTS, ENDS)


def test_a_character_is_rigged_by_joints() -> None:
    mesh = bar()
    heads = np.array([[-2.5, 0, 0], [-0.98, 0, 0], [0.98, 0, 0], [-0.98, 0, 0]])
    tails = np.array([[-0.98, 0, 0], [0.98, 0, 0], [2.5, 0, 0], [-0.98, 0, 0]])
    skeleton = Skeleton(("a", "b", "c", "empty"), (-1, 0, 1, 0), heads, tails)
    character = rig_character(Character("bar", mesh), skeleton, influences=2)
    assert character.weights is not None
    assert character.skeleton is skeleton
    assert ((character.weights > 0).sum(axis=1) <= 2).all()
    np.testing.assert_allclose(character.weights.sum(axis=1), 1)
    top = character.weights.argmax(axis=1)
    x = mesh.vertices[:, 0]
    assert (top[x < -1.2] == 0).all()
    assert (top[x > 1.2] == 2).all()


def test_a_joint_with_several_children_heats_towards_each_of_them() -> None:
    heads = np.array([[0.0, 1, 0], [1, 1, 0], [-1, 1, 0], [0, 2, 0]])
    tails = np.array([[0.0, 4 / 3, 0], [1, 0, 0], [-1, 0, 0], [0, 3, 0]])
    bones = Bones.from_skeleton(Skeleton(("hips", "left", "right", "spine"), (-1, 0, 0, 0), heads, tails))
    assert bones.joints.tolist() == [0, 0, 0, 1, 2, 3]  # the mean of the children is nobody's bone
    np.testing.assert_array_equal(bones.ends, np.r_[heads[1:], tails[1:]])
