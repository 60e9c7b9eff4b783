"""glTF that Draco has compressed reads as the same file without."""

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_gltf import Builder, arm, tube

from kinema.asset.gltf.document import read_document
from kinema.asset.load import load
from kinema.errors import KinemaError
from kinema.export.write import write

DRACO = "KHR_draco_mesh_compression"


def compressed_arm() -> Builder:
    """The arm with positions, joints, weights and indices compressed; their accessors have no bytes of their own."""
    DracoPy = pytest.importorskip("DracoPy")
    builder = arm()
    vertices, faces = tube()
    primitive = builder.content["meshes"][0]["primitives"][0]
    bend = np.clip(vertices[:, 1] - 0.5, 0, 1)
    joints = np.tile([0, 1, 0, 0], (len(vertices), 1)).astype(np.uint8)
    weights = np.stack((1 - bend, bend, 0 * bend, 0 * bend), -1).astype(np.float32)
    data = DracoPy.encode(
        vertices.astype(np.float32),
        faces=faces.astype(np.uint32),
        preserve_order=True,
        quantization_bits=20,
        generic_attributes={1: joints, 2: weights},
    )
    # Draco numbers the positions itself.
    position = next(a["unique_id"] for a in DracoPy.decode(data).attributes if a["attribute_type"] == 0)
    ids = {"POSITION": position, "JOINTS_0": 1, "WEIGHTS_0": 2}
    primitive["extensions"] = {DRACO: {"bufferView": builder.view(data), "attributes": ids}}
    for index in (*primitive["attributes"].values(), primitive["indices"]):
        del builder.content["accessors"][index]["bufferView"]
    return builder


def test_a_compressed_file_is_the_same_character(tmp_path: Path) -> None:
    plain = load(arm().write(tmp_path / "plain.glb"))
    builder = compressed_arm()
    builder.content["extensionsRequired"] = builder.content["extensionsUsed"] = [DRACO]
    packed = load(builder.write(tmp_path / "packed.glb"))
    np.testing.assert_allclose(packed.mesh.vertices, plain.mesh.vertices, atol=1e-5)  # 2 / 2^20
    np.testing.assert_array_equal(packed.mesh.faces, plain.mesh.faces)
    assert packed.weights is not None
    assert plain.weights is not None
    np.testing.assert_allclose(packed.weights, plain.weights, atol=1e-5)
    # Written back, it is a plain file.
    write(tmp_path / "back.glb", packed)
    assert DRACO not in str(read_document(tmp_path / "back.glb").json)
    np.testing.assert_allclose(load(tmp_path / "back.glb").mesh.vertices, plain.mesh.vertices, atol=1e-5)


def test_damage_and_a_missing_package_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = compressed_arm()
    packed = builder.content["meshes"][0]["primitives"][0]["extensions"][DRACO]
    path, start = tmp_path / "packed.glb", builder.content["bufferViews"][packed["bufferView"]]["byteOffset"]
    builder.data[start : start + 5] = b"DRACX"
    with pytest.raises(KinemaError, match=r"packed\.glb: meshes\[0\]\.primitives\[0\] cannot be decompressed"):
        load(builder.write(path))
    found = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "DracoPy":
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(KinemaError, match=r"is compressed by Draco: pip install 'kinema\[compressed\]'"):
        load(path)
