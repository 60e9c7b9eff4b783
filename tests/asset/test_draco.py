"""glTF that Draco has compressed reads as the same file without."""

from pathlib import Path

import numpy as np
import pytest
from small_gltf import DRACO, arm, compressed_arm

from kinema.asset.gltf.document import read_document
from kinema.asset.load import load
from kinema.errors import KinemaError
from kinema.export.write import write


def test_a_compressed_file_is_the_same_character(tmp_path: Path) -> None:
    plain = load(arm().write(tmp_path / "plain.glb"))
    builder = compressed_arm()
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
    for damage in (b"DRACX", bytes.fromhex("445241434f0203000100004006002401")):
        # The second is a cloud of 600 million points.
        builder.data[start : start + len(damage)] = damage
        said = "Input mesh is not draco encoded|std::bad_alloc"
        with pytest.raises(KinemaError, match=rf"packed\.glb: meshes\[0\]\.primitives\[0\] cannot .* \(({said})\)"):
            load(builder.write(path))
    monkeypatch.setattr("kinema.asset.gltf.draco.find_spec", lambda name: None)
    with pytest.raises(KinemaError, match=r"is compressed by Draco: pip install 'kinema\[compressed\]'"):
        load(path)
