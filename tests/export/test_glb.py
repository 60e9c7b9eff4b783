"""What is written is read back by `asset.gltf*`, whose skinning follows the specification to the letter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.character import Character, Clip, Frame, Mesh, Skeleton
from kinema.asset.gltf.accessors import read_accessor
from kinema.asset.gltf.animation import animated_locals, global_matrices, original_vertices, read_tracks
from kinema.asset.gltf.document import GltfBinding, read_document
from kinema.asset.gltf.geometry import read_parts
from kinema.asset.load import load
from kinema.errors import KinemaError
from kinema.export.gltf.channels import decompose, recompose
from kinema.export.gltf.file import GltfFile
from kinema.export.gltf.glb import write_glb
from kinema.export.timing import as_clip, world_transforms
from kinema.export.write import write
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_points


def some_character(*, frame: Frame | None = None, influences: int = 3) -> Character:
    """A bent tube of 40 vertices over a branching tree of 6 joints; every vertex hangs on several joints."""
    rng = np.random.default_rng(3)
    parents = (-1, 0, 1, 0, 3, 3)
    heads = np.array([[0, 1, 0], [0, 1.2, 0.5], [0, 1.6, 0.8], [0, 0.9, -0.4], [0.3, 0.4, -0.5], [-0.3, 0.4, -0.5]])
    tails = np.array([[0, 1.2, 0.5], [0, 1.6, 0.8], [0, 1.8, 1.1], [0, 0.4, -0.5], [0.3, 0, -0.5], [-0.3, 0, -0.5]])
    skeleton = Skeleton(("hip", "chest", "head", "tail base", "left", "right"), parents, heads, tails)
    vertices = heads[rng.integers(6, size=40)] + 0.1 * rng.normal(size=(40, 3))
    faces = rng.permutation(np.arange(39)).reshape(13, 3)
    image = rng.integers(256, size=(4, 4, 4), dtype=np.uint8)
    mesh = Mesh(vertices, faces, rng.random((40, 3)), rng.random((40, 2)), (image,), np.array([0] * 7 + [-1] * 6))
    weights = rng.random((40, 6))
    weights[np.argsort(weights).argsort() < 6 - influences] = 0
    return Character(
        "tube", mesh, skeleton, weights / weights.sum(-1, keepdims=True), frame=frame or Frame(), source=None
    )


def some_clip(character: Character, *, frames: int = 7) -> Clip:
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    generator = torch.Generator().manual_seed(5)
    angles = torch.randn(frames, len(rig.names), 3, generator=generator, dtype=torch.float64)
    root = rig.heads[0] + torch.randn(frames, 3, generator=generator, dtype=torch.float64)
    return as_clip(character, Motion(root, angles, 24.0))


def our_vertices(character: Character, clip: Clip) -> np.ndarray:
    """Posed vertices in the file's coordinates."""
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    pose = torch.from_numpy(world_transforms(character.skeleton, clip)[..., :3, :])
    blended = blend(Skin.from_character(character, dtype=torch.float64), rig, pose)
    world = skin_points(blended, torch.from_numpy(character.mesh.vertices)).numpy()
    frame = character.frame
    return (world - frame.translation) @ frame.rotation / frame.scale


def vertices_of(path: Path, clip: Clip, *, animation: int = 0) -> np.ndarray:
    document = read_document(path)
    times = np.arange(len(clip.root_position)) / clip.fps
    return original_vertices(document, read_parts(document)[0], animation, times)


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("influences", [1, 4, 6])
def test_fresh_file_poses_like_ours(tmp_path: Path, suffix: str, influences: int) -> None:
    turn = np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]])
    character = some_character(frame=Frame(turn, 0.01, np.array([1.0, 2, 3])), influences=influences)
    clip = some_clip(character)
    path = tmp_path / f"tube{suffix}"
    write_glb(path, character, (clip,))
    # Two primitives (textured and not) share the 40 vertices.
    read = vertices_of(path, clip)
    ours = our_vertices(character, clip) * character.frame.scale  # a new glTF is in metres
    np.testing.assert_allclose(read, np.concatenate((ours, ours), 1), atol=2e-6 * np.ptp(ours))
    assert not list(tmp_path.glob("*.part"))


def test_file_that_is_z_up_stands_upright_in_gltf(tmp_path: Path) -> None:
    z_up = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    character = some_character(frame=Frame(z_up, 0.5, np.array([0.0, 1, 0])))
    clip = some_clip(character)
    write_glb(tmp_path / "tube.glb", character, (clip,))
    upright = our_vertices(character, clip) @ z_up.T * character.frame.scale
    read = vertices_of(tmp_path / "tube.glb", clip)
    np.testing.assert_allclose(read[:, :40], upright, atol=2e-6 * np.ptp(upright))


def test_new_gltf_is_in_metres_and_a_given_one_keeps_its_units(tmp_path: Path, fox: Character) -> None:
    """A mesh in centimetres, rigged: the new file is as tall as the character. Rewritten, a file in centimetres stays
    in centimetres."""
    import trimesh

    corners = fox.mesh.vertices * 100 @ np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # Z up
    trimesh.Trimesh(corners, fox.mesh.faces, process=False).export(tmp_path / "fox.obj")
    mesh = load(tmp_path / "fox.obj", up="+z", facing="-y", scale=0.01)
    np.testing.assert_allclose(np.ptp(mesh.mesh.vertices, axis=0), np.ptp(fox.mesh.vertices, axis=0), atol=1e-5)
    write(tmp_path / "mesh.glb", mesh)
    write(tmp_path / "rigged.glb", replace(fox, frame=Frame(np.eye(3), 0.01, np.zeros(3))))
    for name in ("mesh.glb", "rigged.glb"):
        document = read_document(tmp_path / name)
        size = np.ptp(original_vertices(document, read_parts(document)[0], None, np.zeros(1))[0], axis=0)
        np.testing.assert_allclose(size, np.ptp(fox.mesh.vertices, axis=0), atol=1e-5)

    content = read_document(tmp_path / "mesh.glb")
    large = GltfFile.from_document(content)
    root = large.add("nodes", {"name": "cm", "scale": [100.0] * 3, "children": large.json["scenes"][0]["nodes"]})
    large.json["scenes"][0]["nodes"] = [root]
    large.write(tmp_path / "large.glb")
    given = load(tmp_path / "large.glb", scale=0.01)
    np.testing.assert_allclose(np.ptp(given.mesh.vertices, axis=0), np.ptp(fox.mesh.vertices, axis=0), atol=1e-4)
    write(tmp_path / "again.glb", given)
    assert read_document(tmp_path / "again.glb").nodes[root]["scale"] == [100.0] * 3


def bound(character: Character, path: Path) -> Character:
    """The character as a reader would give it back: bound to the nodes of the file at `path`."""
    document = read_document(path)
    names = [node.get("name") for node in document.nodes]
    assert character.skeleton is not None
    rest = global_matrices(document, animated_locals(document, [], np.zeros(1)))[0]
    count = len(character.mesh.vertices)
    binding = GltfBinding(
        document,
        tuple(names.index(name) for name in character.skeleton.names),
        rest,
        np.full(count, names.index(character.name)),
        np.zeros(count, dtype=np.int64),
        np.arange(count),
    )
    return replace(character, source=binding)


def test_second_clip_is_added_in_front_and_the_rest_is_kept(tmp_path: Path) -> None:
    character = some_character()
    first, second = some_clip(character), replace(some_clip(character, frames=4), fps=12.0)
    write_glb(tmp_path / "one.glb", character, (first,))
    again = bound(character, tmp_path / "one.glb")
    again.source.document.json["nodes"][0]["extras"] = {"mood": "calm"}
    write_glb(tmp_path / "two.glb", again, (second,))
    document = read_document(tmp_path / "two.glb")
    assert [animation["name"] for animation in document.json["animations"]] == ["kinema.2", "kinema"]
    assert document.json["nodes"][0]["extras"] == {"mood": "calm"}
    for key in ("meshes", "materials", "skins", "textures", "nodes"):
        assert document.json[key] == again.source.document.json[key]
    assert document.images == again.source.document.images
    size = np.ptp(character.mesh.vertices)
    for place, clip in enumerate((second, first)):
        ours = our_vertices(character, clip)
        read = vertices_of(tmp_path / "two.glb", clip, animation=place)[:, :40]
        np.testing.assert_allclose(read, ours, atol=2e-6 * size)
    write_glb(tmp_path / "only.glb", again, (second,), keep_clips=False)
    assert len(read_document(tmp_path / "only.glb").json["animations"]) == 1
    assert (tmp_path / "only.glb").stat().st_size < (tmp_path / "two.glb").stat().st_size
    read = vertices_of(tmp_path / "only.glb", second)[:, :40]
    np.testing.assert_allclose(read, our_vertices(character, second), atol=2e-6 * size)


def test_nodes_hang_differently_than_joints(tmp_path: Path) -> None:
    """A foot that is a root of its own, a mirrored and scaled parent, a node with a matrix."""
    character = some_character()
    clip = some_clip(character)
    write_glb(tmp_path / "one.glb", character, ())
    document = read_document(tmp_path / "one.glb")
    names = [node.get("name") for node in document.nodes]
    hip, base, left, right = (names.index(name) for name in ("hip", "tail base", "left", "right"))
    rest = global_matrices(document, animated_locals(document, [], np.zeros(1)))[0]
    nodes = document.json["nodes"]
    nodes[base]["children"].remove(left)
    document.json["scenes"][0]["nodes"].append(left)
    nodes[left] = {"name": "left", "matrix": rest[left].T.reshape(-1).tolist()}
    # An armature with scale 100, mirrored, above the hip.
    armature = np.diag([100.0, -100, 100, 1])
    nodes.append({"name": "armature", "children": [hip], "scale": [100, -100, 100]})
    document.json["scenes"][0]["nodes"] = [n for n in document.json["scenes"][0]["nodes"] if n != hip]
    document.json["scenes"][0]["nodes"].append(len(nodes) - 1)
    local = decompose((np.linalg.inv(armature) @ rest[hip])[None])
    nodes[hip].update({path: values[0].tolist() for path, values in local.items()})
    odd = np.concatenate((rest, armature[None]))
    np.testing.assert_allclose(global_matrices(document, animated_locals(document, [], np.zeros(1)))[0], odd, atol=1e-5)
    binding = GltfBinding(
        document,
        tuple(names.index(name) for name in character.skeleton.names),  # type: ignore[union-attr]
        odd,
        np.zeros(40, dtype=np.int64),
        np.zeros(40, dtype=np.int64),
        np.arange(40),
    )
    write_glb(tmp_path / "odd.glb", replace(character, source=binding), (clip,))
    ours = our_vertices(character, clip)
    read = vertices_of(tmp_path / "odd.glb", clip)[:, :40]
    np.testing.assert_allclose(read, ours, atol=3e-6 * np.ptp(ours))
    written = read_document(tmp_path / "odd.glb")
    assert not any("matrix" in written.nodes[track.node] for track in read_tracks(written, 0))
    moved = {track.node for track in read_tracks(written, 0) if track.path == "translation"}
    # Only the root and the foot without a leg need a path; all other joints only turn.
    assert moved == {hip, left}
    assert right not in moved


def test_rig_is_hung_on_the_meshes_of_a_file_without_one(tmp_path: Path) -> None:
    character = some_character()
    clip = some_clip(character)
    write_glb(tmp_path / "mesh.glb", replace(character, skeleton=None, weights=None), ())
    document = read_document(tmp_path / "mesh.glb")
    # The mesh sits somewhere else in the file: the node's place has to survive.
    shift = np.eye(4)
    shift[:3, 3] = (1, 2, 3)
    document.nodes[0]["translation"] = [1, 2, 3]
    parts = read_parts(document)[0]
    binding = GltfBinding(
        document,
        (),
        shift[None],
        np.zeros(80, dtype=np.int64),
        np.repeat([0, 1], 40),
        np.tile(np.arange(40), 2),
    )
    twice = replace(
        character.mesh,
        vertices=np.tile(character.mesh.vertices, (2, 1)) + [1, 2, 3],
        colors=np.ones((80, 3)),
        uv=None,
        textures=(),
        face_texture=None,
    )
    assert character.weights is not None
    rigged = replace(character, mesh=twice, weights=np.tile(character.weights, (2, 1)), source=binding)
    write_glb(tmp_path / "rigged.glb", rigged, (clip,))
    ours = our_vertices(rigged, clip)
    np.testing.assert_allclose(vertices_of(tmp_path / "rigged.glb", clip), ours, atol=2e-6 * np.ptp(ours))
    written = read_document(tmp_path / "rigged.glb")
    assert written.json["materials"] == document.json["materials"]
    assert len(read_parts(written)[0]) == len(parts)


def test_weights_are_written_normalised(tmp_path: Path) -> None:
    """Weights that sum to 1.755, and a vertex that has none."""
    character = some_character()
    write_glb(tmp_path / "one.glb", character, ())
    again = bound(character, tmp_path / "one.glb")
    document = again.source.document
    accessor = document.json["accessors"][document.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"]]
    start = document.json["bufferViews"][accessor["bufferView"]]["byteOffset"]
    data = bytearray(document.buffers[0])
    weights = np.frombuffer(data, np.float32, count=160, offset=start).reshape(40, 4) * np.float32(1.755)
    weights[7] = 0
    data[start : start + weights.nbytes] = weights.tobytes()
    source = replace(again.source, document=replace(document, buffers=(bytes(data),)))
    write_glb(tmp_path / "two.glb", replace(again, source=source), ())
    written = read_document(tmp_path / "two.glb")
    parts, changes = read_parts(written)
    assert changes == []
    attributes = written.json["meshes"][0]["primitives"][0]["attributes"]
    kept = np.delete(np.arange(40), 7)
    values = read_accessor(written, attributes["WEIGHTS_0"])
    np.testing.assert_allclose(values.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(values[kept], weights[kept] / 1.755, atol=1e-6)
    assert parts[0].joints is not None
    assert parts[0].joints[7, 0] == written.json["skins"][0]["joints"][0]
    # Both primitives share the new accessors.
    assert attributes["WEIGHTS_0"] == written.json["meshes"][0]["primitives"][1]["attributes"]["WEIGHTS_0"]


def test_decompose_inverts_recompose() -> None:
    rng = np.random.default_rng(0)
    xyzw = rng.normal(size=(50, 4))
    parts = {
        "translation": rng.normal(size=(50, 3)),
        "rotation": xyzw / np.linalg.norm(xyzw, axis=-1, keepdims=True),
        "scale": rng.uniform(0.1, 3, size=(50, 3)) * [1, -1, 1],
    }
    matrix = recompose(parts)
    for signs in (None, np.array([1.0, -1, 1])):
        np.testing.assert_allclose(recompose(decompose(matrix, signs=signs)), matrix, atol=1e-12)
    np.testing.assert_allclose(decompose(matrix, signs=np.array([1.0, -1, 1]))["scale"], parts["scale"], atol=1e-12)


def test_wrong_motion_is_told() -> None:
    character = some_character()
    clip = some_clip(character)
    with pytest.raises(KinemaError, match="tube: the motion is for 5 joints, the skeleton has 6"):
        as_clip(character, replace(clip, wxyz_parent_joint=clip.wxyz_parent_joint[:, 1:]))
    with pytest.raises(KinemaError, match="not finite"):
        as_clip(character, replace(clip, root_position=clip.root_position * np.nan))
    with pytest.raises(KinemaError, match="has no skeleton"):
        as_clip(replace(character, skeleton=None), clip)
