"""The one door: formats, skeletons from elsewhere, and the errors of someone who typed the wrong name."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from mutated_files import BVH
from small_gltf import Builder, arm, tube

from kinema.asset.character import Skeleton
from kinema.asset.inspect import describe, inspect_lines
from kinema.asset.load import load, load_skeleton
from kinema.asset.skeleton_json import read_skeleton_json, write_skeleton_json
from kinema.errors import KinemaError


@pytest.fixture
def colours() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (len(tube()[0]), 3))


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".off", ".stl"])
def test_meshes_without_rig(tmp_path: Path, suffix: str, colours: np.ndarray) -> None:
    vertices, faces = tube()
    path = tmp_path / f"tube{suffix}"
    trimesh.Trimesh(vertices, faces, vertex_colors=colours, process=False).export(path)
    character = load(path, up="y", facing="z")
    assert character.skeleton is None
    assert character.weights is None
    assert character.frame.scale == 1
    placed = character.mesh.vertices[character.mesh.faces]
    if suffix == ".stl":
        assert len(character.mesh.vertices) == len(vertices)  # merged again
        assert np.isclose(sorted(placed.sum((1, 2))), sorted(vertices[faces].sum((1, 2))), atol=1e-5).all()
    else:
        np.testing.assert_allclose(placed, vertices[faces], atol=1e-5)
    if suffix in (".obj", ".ply"):
        np.testing.assert_allclose(character.mesh.colors, colours / 255, atol=2e-3)


def test_comments_of_an_off_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "tip.off").write_text("OFF # by hand\n# counts\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    assert len(load(tmp_path / "tip.off").mesh.faces) == 1


def test_an_obj_with_a_texture_keeps_it(tmp_path: Path) -> None:
    from PIL import Image

    Image.fromarray(np.array([[[255, 0, 0]], [[0, 0, 255]]], dtype=np.uint8)).save(tmp_path / "skin.png")
    (tmp_path / "look.mtl").write_text("newmtl skin\nmap_Kd skin.png\n")
    (tmp_path / "tri.obj").write_text(
        "mtllib look.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl skin\nf 1/1 2/2 3/3\n"
    )
    mesh = load(tmp_path / "tri.obj").mesh
    assert mesh.textures[0][:, 0, :3].tolist() == [[255, 0, 0], [0, 0, 255]]
    assert mesh.uv is not None
    # OBJ counts from the bottom, glTF from the top.
    order = np.lexsort(mesh.uv.T)
    np.testing.assert_allclose(mesh.uv[order], [[0, 0], [0, 1], [1, 1]])


def test_an_obj_with_a_broken_texture_is_refused(tmp_path: Path) -> None:
    test_an_obj_with_a_texture_keeps_it(tmp_path)
    from PIL import Image

    image = tmp_path / "skin.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(image)
    image.write_bytes(image.read_bytes()[:6000])
    with pytest.raises(KinemaError, match=r"tri\.obj: its texture cannot be read"):
        load(tmp_path / "tri.obj")


def test_a_bvh_without_extent_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "dot.bvh"
    file.write_text(BVH.replace("OFFSET 0 10 0", "OFFSET 0 0 0").replace("OFFSET 0 8 0", "OFFSET 0 0 0"))
    with pytest.raises(KinemaError, match=r"dot\.bvh: all joints lie in one point"):
        load(file)


def test_a_skeleton_in_the_meshs_coordinates_follows_its_frame(tmp_path: Path) -> None:
    vertices, faces = tube()
    # Z up, in centimetres.
    turned = vertices @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]).T * 100
    trimesh.Trimesh(turned, faces, process=False).export(tmp_path / "tube.ply")
    bones = Skeleton(
        ("low", "high"), (-1, 0), np.array([[0, 0, 0], [0, 0, 100.0]]), np.array([[0, 0, 100.0], [0, 0, 200]])
    )
    write_skeleton_json(tmp_path / "bones.json", bones)
    character = load(tmp_path / "tube.ply", skeleton=tmp_path / "bones.json", up="+z", facing="-y")
    assert character.weights is None
    assert character.skeleton is not None
    np.testing.assert_allclose(character.skeleton.heads, [[0, 0, 0], [0, 1, 0]], atol=1e-6)
    np.testing.assert_allclose(character.mesh.vertices, vertices, atol=1e-5)


def test_a_skeleton_in_its_own_units_is_fitted_and_a_foreign_one_refused(tmp_path: Path) -> None:
    vertices, faces = tube()
    trimesh.Trimesh(vertices * 100, faces, process=False).export(tmp_path / "tube.ply")
    bones = Skeleton(
        ("low", "high"), (-1, 0), np.array([[0, 0.05, 0], [0, 1.0, 0]]), np.array([[0, 1.0, 0], [0, 1.9, 0]])
    )
    write_skeleton_json(tmp_path / "bones.json", bones)
    character = load(tmp_path / "tube.ply", skeleton=tmp_path / "bones.json")
    assert character.skeleton is not None
    np.testing.assert_allclose(character.skeleton.heads, bones.heads, atol=1e-9)
    away = Skeleton(bones.names, bones.parents, bones.heads + [70, 0, 0], bones.tails + [70, 0, 0])
    write_skeleton_json(tmp_path / "away.json", away)
    trimesh.Trimesh(vertices, faces, process=False).export(tmp_path / "tube.ply")
    with pytest.raises(KinemaError, match="0 of its 2 joints lie within tube"):
        load(tmp_path / "tube.ply", skeleton=tmp_path / "away.json")


def test_skeletons_of_all_kinds_of_files(tmp_path: Path) -> None:
    glb = arm().write(tmp_path / "arm.glb")
    (tmp_path / "walk.bvh").write_text(BVH)
    alone = Builder()
    alone.content |= {
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"name": "Armature", "children": [1]},
            {"name": "shoulder", "children": [2]},
            {"name": "elbow", "translation": [0, 1, 0], "children": [3]},
            {"name": "elbow_end", "translation": [0, 0.9, 0]},
        ],
    }
    from_mesh, from_bones = load_skeleton(glb), load_skeleton(alone.write(tmp_path / "bones.glb"))
    assert from_mesh.names == from_bones.names == ("shoulder", "elbow")
    np.testing.assert_allclose(from_bones.heads, from_mesh.heads)
    np.testing.assert_allclose(from_bones.tails[1], [0, 1.9, 0])
    assert load_skeleton(tmp_path / "walk.bvh").names == ("hips", "spine")
    character = load(glb, skeleton=tmp_path / "bones.glb")
    assert character.clips == ()
    assert character.weights is None
    assert any("took 2 joints from bones.glb" in line for line in character.changes)


def test_json_skeletons_come_back_as_they_were_in_any_order(tmp_path: Path) -> None:
    bones = Skeleton(("a", "b", "c"), (-1, 0, 0), np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3) + 1)
    path = tmp_path / "bones.json"
    write_skeleton_json(path, bones)
    again = read_skeleton_json(path)
    assert (again.names, again.parents) == (bones.names, bones.parents)
    np.testing.assert_array_equal(again.heads, bones.heads)
    np.testing.assert_array_equal(again.tails, bones.tails)
    path.write_text('[{"name": "tip", "parent": "top", "head": [0,1,0]}, {"name": "top", "head": [0,0,0]}]')
    assert read_skeleton_json(path).names == ("top", "tip")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "not JSON"),
        ("{}", "no list of 1 to 1000 joints"),
        ('[{"name": "a", "head": [0, 0]}]', "not three numbers"),
        ('[{"name": "a", "parent": "b", "head": [0,0,0]}]', "'b', which is not there"),
        ('[{"name": "a", "head": [0,0,0]}, {"name": "a", "head": [0,0,0]}]', "two joints are called a"),
        (
            '[{"name":"r","head":[0,0,0]},{"name":"a","parent":"b","head":[0,0,0]},{"name":"b","parent":"a","head":[0,0,0]}]',
            "its own ancestor",
        ),
    ],
)
def test_broken_json_skeletons(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bones.json").write_text(text)
    with pytest.raises(KinemaError, match=message):
        read_skeleton_json(tmp_path / "bones.json")


def test_a_bvh_is_a_character_of_bones_that_stands_on_the_ground(tmp_path: Path) -> None:
    (tmp_path / "walk.bvh").write_text(BVH)
    character = load(tmp_path / "walk.bvh", scale=0.1)
    assert character.skeleton is not None
    assert character.weights is not None
    assert len(character.clips) == 1
    np.testing.assert_array_equal(character.weights.sum(1), 1)
    np.testing.assert_allclose(character.skeleton.heads, [[0, 0, 0], [0, 1, 0]], atol=1e-9)
    # The motion's lowest joint is the hips at y = 10 units: that is the ground.
    np.testing.assert_allclose(character.clips[0].root_position[:, 1], 0, atol=1e-9)


@pytest.mark.parametrize("name", ["missing.glb", "folder", "text.glb", "empty.glb", "text.xyz", "text.obj", "text.ply"])
def test_wrong_names_are_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    for text in ("text.glb", "text.xyz", "text.obj", "text.ply"):
        (tmp_path / text).write_text("this is a shopping list\n")
    (tmp_path / "empty.glb").touch()
    with pytest.raises(KinemaError) as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_inspect_tells_what_is_there_and_what_was_changed(tmp_path: Path) -> None:
    builder = arm()
    builder.content["nodes"].append({"name": "pole", "translation": [0, 1, 2]})
    builder.content["scenes"][0]["nodes"].append(3)
    builder.content["skins"][0]["joints"].append(3)
    inverse = np.tile(np.eye(4), (3, 1, 1))
    inverse[1, 1, 3] = inverse[2, 1, 3] = -1
    inverse[2, 2, 3] = -2
    builder.content["skins"][0]["inverseBindMatrices"] = builder.accessor(inverse.transpose(0, 2, 1))
    character = load(builder.write(tmp_path / "arm.glb"))
    text = "\n".join(inspect_lines(character))
    for fact in ("36 vertices, 68 triangles", "shoulder > elbow", "bend", "1.00 s", "dropped 1 joint", "pole"):
        assert fact in text
    facts = describe(character)
    assert facts["joints"] == [{"name": "shoulder", "parent": None}, {"name": "elbow", "parent": "shoulder"}]
    assert facts["clips"][0]["seconds"] == 1.0
