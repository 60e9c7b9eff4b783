"""Containers, accessors, meshes and the errors of broken files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_gltf import Builder, arm, pack_glb, tube

from kinema.asset.gltf.accessors import read_accessor
from kinema.asset.gltf.document import read_document
from kinema.asset.gltf.geometry import read_parts
from kinema.asset.load import load
from kinema.errors import KinemaError


def _document(builder: Builder, folder: Path):
    return read_document(builder.write(folder / "small.glb"))


@pytest.mark.parametrize(("dtype", "largest"), [("i1", 127), ("u1", 255), ("i2", 32767), ("u2", 65535)])
def test_normalised_integers_are_fractions_of_the_largest(tmp_path: Path, dtype: str, largest: int) -> None:
    builder = Builder()
    info = np.iinfo(dtype)
    stored = np.array([[info.min, 0, info.max, 7]])
    index = builder.accessor(stored, dtype, normalized=True)
    # glTF 2.0, 3.11: f = max(c / largest, -1)
    expected = np.maximum(stored / largest, -1)
    np.testing.assert_array_equal(read_accessor(_document(builder, tmp_path), index), expected)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "u4", "f4"])
@pytest.mark.parametrize("padding", [0, 4])
def test_strided_and_packed_values_are_the_same(tmp_path: Path, dtype: str, padding: int) -> None:
    builder = Builder()
    builder.accessor([1, 2, 3], "u1")  # something in front, so that offsets matter
    values = np.arange(21).reshape(7, 3)
    index = builder.accessor(values, dtype, padding=padding)
    result = read_accessor(_document(builder, tmp_path), index)
    np.testing.assert_array_equal(result, values)
    assert result.dtype.kind == ("f" if dtype == "f4" else np.dtype(dtype).kind)


def test_sparse_values_replace_the_base_or_zeros(tmp_path: Path) -> None:
    builder = Builder()
    values = np.arange(15.0).reshape(5, 3)
    base = builder.accessor(values)
    over_base = builder.sparse(5, [1, 4], [[9, 9, 9], [8, 8, 8]], base=base)
    over_zero = builder.sparse(5, [0], [[7, 7, 7]])
    document = _document(builder, tmp_path)
    expected = values.copy()
    expected[[1, 4]] = [[9, 9, 9], [8, 8, 8]]
    np.testing.assert_array_equal(read_accessor(document, over_base), expected)
    np.testing.assert_array_equal(read_accessor(document, over_zero), np.eye(5, 3) * 7 @ np.ones((3, 3)) * np.eye(5, 1))


def test_glb_data_uri_and_external_buffer_give_one_character(tmp_path: Path) -> None:
    builder = arm()
    characters = [load(builder.write(tmp_path / name)) for name in ("arm.glb", "arm_inside.gltf", "arm_external.gltf")]
    for character in characters[1:]:
        np.testing.assert_array_equal(character.mesh.vertices, characters[0].mesh.vertices)
        np.testing.assert_array_equal(character.clips[0].wxyz_parent_joint, characters[0].clips[0].wxyz_parent_joint)
    assert characters[0].skeleton is not None
    assert characters[0].skeleton.names == ("shoulder", "elbow")


def _triangles(builder: Builder, folder: Path) -> set[tuple[int, ...]]:
    """Faces with their smallest vertex first: the winding is kept, the start is not."""
    parts, _ = read_parts(_document(builder, folder))
    rolled = [tuple(np.roll(face, -int(face.argmin()))) for part in parts for face in part.faces]
    return {tuple(int(i) for i in face) for face in rolled}


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4"])
def test_indices_of_all_widths(tmp_path: Path, dtype: str) -> None:
    vertices, faces = tube()
    builder = Builder()
    primitive = {
        "attributes": {"POSITION": builder.accessor(vertices)},
        "indices": builder.accessor(faces.ravel(), dtype),
    }
    builder.content |= {"nodes": [{"mesh": 0}], "meshes": [{"primitives": [primitive]}]}
    expected = {tuple(int(i) for i in np.roll(face, -int(face.argmin()))) for face in faces}
    assert _triangles(builder, tmp_path) == expected


@pytest.mark.parametrize(
    ("mode", "order", "expected"),
    [
        (4, None, {(0, 1, 2), (3, 4, 5)}),
        (5, None, {(0, 1, 2), (1, 3, 2), (2, 3, 4), (3, 5, 4)}),
        (6, None, {(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)}),
        # Two strips joined by triangles without area; the sixth triangle runs the other way round.
        (5, [0, 1, 2, 2, 3, 3, 4, 5], {(0, 1, 2), (3, 5, 4)}),
    ],
)
def test_strips_fans_and_meshes_without_indices(tmp_path: Path, mode: int, order: Any, expected: set) -> None:
    builder = Builder()
    primitive: dict[str, Any] = {"attributes": {"POSITION": builder.accessor(np.eye(6, 3) * 2.0)}, "mode": mode}
    if order is not None:
        primitive["indices"] = builder.accessor(order, "u1")
    builder.content |= {"nodes": [{"mesh": 0}], "meshes": [{"primitives": [primitive]}]}
    assert _triangles(builder, tmp_path) == expected


def test_colours_texture_and_its_transform(tmp_path: Path) -> None:
    import io

    from PIL import Image

    builder = Builder()
    picture = io.BytesIO()
    Image.fromarray(np.array([[[255, 0, 0], [0, 255, 0]]], dtype=np.uint8)).save(picture, "PNG")
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=float)
    transform = {"offset": [0.5, 0.25], "scale": [2, 4], "rotation": 0.0}
    builder.content |= {
        "nodes": [{"mesh": 0}, {"mesh": 1, "translation": [0, 0, 1]}],
        "images": [{"bufferView": builder.view(picture.getvalue()), "mimeType": "image/png"}],
        "textures": [{"source": 0}],
        "materials": [
            {
                "pbrMetallicRoughness": {
                    "baseColorTexture": {"index": 0, "extensions": {"KHR_texture_transform": transform}}
                }
            },
            {"pbrMetallicRoughness": {"baseColorFactor": [0.5, 1, 0, 1]}},
        ],
        "meshes": [
            {
                "primitives": [
                    {
                        "attributes": {
                            "POSITION": builder.accessor(vertices),
                            "TEXCOORD_0": builder.accessor([[0, 0], [65535, 0], [0, 65535]], "u2", normalized=True),
                        },
                        "material": 0,
                    }
                ]
            },
            {
                "primitives": [
                    {
                        "attributes": {
                            "POSITION": builder.accessor(vertices),
                            "COLOR_0": builder.accessor(np.tile([255, 0, 255, 255], (3, 1)), "u1", normalized=True),
                        },
                        "material": 1,
                    }
                ]
            },
        ],
    }
    mesh = load(builder.write(tmp_path / "look.glb")).mesh
    assert len(mesh.textures) == 1
    assert mesh.uv is not None
    assert mesh.face_texture is not None
    assert mesh.textures[0].tolist() == [[[255, 0, 0, 255], [0, 255, 0, 255]]]
    assert mesh.face_texture.tolist() == [0, -1]
    np.testing.assert_allclose(mesh.uv[:3], [[0.5, 0.25], [2.5, 0.25], [0.5, 4.25]])
    # Linear 0.5 is 0.7354 in sRGB; vertex colour times factor.
    np.testing.assert_allclose(mesh.colors[3:], np.tile([0.735357, 0, 0], (3, 1)), atol=1e-5)
    np.testing.assert_allclose(mesh.colors[:3], 1, atol=1e-15)


def test_a_texture_is_transparent_only_where_its_material_says_so(tmp_path: Path) -> None:
    import io

    from PIL import Image

    builder, picture = Builder(), io.BytesIO()
    Image.fromarray(np.array([[[255, 0, 0, 0], [0, 255, 0, 255]]], dtype=np.uint8)).save(picture, "PNG")
    attributes = {"POSITION": builder.accessor(np.eye(3)), "TEXCOORD_0": builder.accessor(np.zeros((3, 2)))}
    surface = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
    builder.content |= {
        "nodes": [{"mesh": 0}],
        "images": [{"bufferView": builder.view(picture.getvalue()), "mimeType": "image/png"}],
        "textures": [{"source": 0}],
        "materials": [surface, {**surface, "alphaMode": "OPAQUE"}, {**surface, "alphaMode": "MASK"}],
        "meshes": [{"primitives": [{"attributes": attributes, "material": i} for i in range(3)]}],
    }
    mesh = load(builder.write(tmp_path / "look.glb")).mesh
    assert mesh.face_texture is not None
    assert [mesh.textures[i][0, :, 3].tolist() for i in mesh.face_texture] == [[255, 255], [255, 255], [0, 255]]
    assert mesh.textures[mesh.face_texture[0]][0, 0].tolist() == [255, 0, 0, 255]


def test_a_missing_texture_is_told_and_does_without(tmp_path: Path) -> None:
    builder = arm()
    primitive = builder.content["meshes"][0]["primitives"][0]
    primitive["attributes"]["TEXCOORD_0"] = builder.accessor(np.zeros((len(tube()[0]), 2)))
    primitive["material"] = 0
    builder.content |= {
        "images": [{"uri": "lost.png"}],
        "textures": [{"source": 0}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
    }
    character = load(builder.write(tmp_path / "bare.gltf"))
    assert character.mesh.textures == ()
    assert any("lost.png is missing" in line for line in character.changes)


def test_quantised_positions_and_eight_influences(tmp_path: Path) -> None:
    builder = arm()
    attributes = builder.content["meshes"][0]["primitives"][0]["attributes"]
    vertices, _ = tube()
    reference = load(builder.write(tmp_path / "plain.glb"))
    attributes["POSITION"] = builder.accessor(np.round(vertices * 1000), "i2", padding=2)
    builder.content["extensionsRequired"] = ["KHR_mesh_quantization"]
    # The node's scale is what undoes the quantisation, but a skinned mesh ignores its node: put it into the binding.
    inverse = np.tile(np.diag([1e-3, 1e-3, 1e-3, 1]), (2, 1, 1))
    inverse[1, 1, 3] = -1
    builder.content["skins"][0]["inverseBindMatrices"] = builder.accessor(inverse.transpose(0, 2, 1))
    # All weight moved to the second set.
    attributes["JOINTS_1"], attributes["WEIGHTS_1"] = attributes["JOINTS_0"], attributes["WEIGHTS_0"]
    attributes["WEIGHTS_0"] = builder.accessor(np.zeros((len(vertices), 4)))
    quantised = load(builder.write(tmp_path / "quantised.glb"))
    np.testing.assert_allclose(quantised.mesh.vertices, reference.mesh.vertices, atol=1e-6)
    assert quantised.weights is not None
    assert reference.weights is not None
    np.testing.assert_allclose(quantised.weights, reference.weights, atol=1e-7)


def test_weights_off_one_are_normalised_and_told(tmp_path: Path) -> None:
    builder = arm()
    attributes = builder.content["meshes"][0]["primitives"][0]["attributes"]
    count = len(tube()[0])
    attributes["WEIGHTS_0"] = builder.accessor(np.tile([1.0, 0.755, 0, 0], (count, 1)))
    character = load(builder.write(tmp_path / "heavy.glb"))
    assert character.weights is not None
    np.testing.assert_allclose(character.weights.sum(1), 1, atol=1e-12)
    np.testing.assert_allclose(character.weights[:, 1], 0.755 / 1.755, atol=1e-6)
    assert any("sum to up to 1.755" in line for line in character.changes)


def _set(*path: Any, to: Any) -> Callable[[Builder], None]:
    def change(builder: Builder) -> None:
        holder = builder.content
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = to

    return change


def _poison(builder: Builder) -> None:
    positions = np.frombuffer(bytes(builder.data[:432]), "<f4").copy()
    positions[7] = np.nan
    builder.data[:432] = positions.tobytes()


def _cycle(builder: Builder) -> None:
    builder.content["nodes"][2]["children"] = [1]


BROKEN = {
    "meshopt": (_set("extensionsRequired", to=["EXT_meshopt_compression"]), "EXT_meshopt_compression"),
    "nan": (_poison, r"accessors\[0\] holds 1 values that are not finite, element 2 is nan"),
    "cycle": (_cycle, r"nodes\[\d\] is its own ancestor"),
    "two parents": (_set("nodes", 0, "children", to=[2]), r"nodes\[2\] has two parents"),
    "joint": (_set("skins", 0, "joints", to=[1]), r"vertex \d+ has a weight on joint 1, its skin has 1 joints"),
    "node": (_set("nodes", 1, "children", to=[7]), r"nodes\[1\].children\[0\] is 7, not one of the 3 nodes"),
    "accessor": (_set("accessors", 0, "count", to=4000), r"accessors\[0\] needs \d+ bytes, its bufferView has 432"),
    "huge": (_set("accessors", 0, "count", to=2**33), r"nodes\[0\] with its mesh would take \d+ MB of memory"),
    "view": (_set("bufferViews", 0, "byteLength", to=10**6), r"bufferViews\[0\] ends at byte"),
    "type": (_set("accessors", 0, "type", to="VEC5"), r"accessors\[0\].type is 'VEC5'"),
    "kind": (_set("accessors", 0, "type", to="VEC2"), "has type VEC2, not VEC3"),
    "index": (_set("meshes", 0, "primitives", 0, "attributes", "POSITION", to=1), "has type VEC4, not VEC3"),
    "version": (_set("asset", "version", to="1.0"), "version 1.0"),
    "sampler": (_set("animations", 0, "channels", 0, "sampler", to=5), "sampler 5 of 1"),
    "mesh": (_set("meshes", 0, "primitives", to=[]), "no triangles"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_one_line_with_its_place(tmp_path: Path, case: str) -> None:
    change, message = BROKEN[case]
    builder = arm()
    change(builder)
    path = builder.write(tmp_path / "broken.glb")
    with pytest.raises(KinemaError, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "uri", ["../secret.bin", "/etc/passwd", "http://example.org/a.bin", "a/../../b.bin", "%2e%2e/b"]
)
def test_buffers_outside_the_folder_are_refused(tmp_path: Path, uri: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret.bin").write_bytes(b"x" * 4000)
    builder = arm()
    content = {**builder.content, "buffers": [{"byteLength": 10, "uri": uri}]}
    path = tmp_path / "inner" / "arm.gltf"
    path.write_text(json.dumps(content))
    with pytest.raises(KinemaError, match="not inside its own folder"):
        read_document(path)


@pytest.mark.parametrize("length", [0, 3, 11, 19, 200, 2000])
def test_truncated_files_are_one_line(tmp_path: Path, length: int) -> None:
    path = tmp_path / "cut.glb"
    path.write_bytes(arm().glb()[:length])
    with pytest.raises(KinemaError, match=r"truncated|empty|neither"):
        load(path)


def test_json_with_nan_or_endless_nesting_is_one_line(tmp_path: Path) -> None:
    for text in (b'{"asset": {"version": "2.0"}, "nodes": [{"scale": [NaN, 1, 1]}]}', b"[" * 100_000):
        path = tmp_path / "odd.glb"
        path.write_bytes(pack_glb(text, b""))
        with pytest.raises(KinemaError, match="JSON"):
            load(path)
