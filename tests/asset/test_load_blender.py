"""FBX, BLEND and USD through the user's Blender."""

from pathlib import Path

import numpy as np
import pytest
from small_gltf import arm

from kinema.asset.blender import blender_command, convert_with_blender
from kinema.asset.load import load, load_skeleton


@pytest.mark.slow
@pytest.mark.skipif(blender_command() is None, reason="no Blender here")
@pytest.mark.parametrize("suffix", [".blend", ".fbx"])
def test_a_rig_comes_back_from_blender(tmp_path: Path, suffix: str) -> None:
    path = arm().write(tmp_path / "arm.glb")
    original = load(path)
    convert_with_blender(path, tmp_path / f"arm{suffix}")
    character = load(tmp_path / f"arm{suffix}")
    assert character.skeleton is not None
    assert original.skeleton is not None
    assert character.skeleton.names == original.skeleton.names
    np.testing.assert_allclose(character.skeleton.heads, original.skeleton.heads, atol=1e-4)
    np.testing.assert_allclose(
        np.ptp(character.mesh.vertices, axis=0), np.ptp(original.mesh.vertices, axis=0), atol=1e-4
    )
    assert len(character.clips) == 1
    assert load_skeleton(tmp_path / f"arm{suffix}").names == original.skeleton.names
