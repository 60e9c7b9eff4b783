"""A motion in every format that we write goes back onto its character: `kinema convert CHARACTER OUT --motion FILE`."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kinema.asset.character import Character, Frame
from kinema.asset.load import load
from kinema.errors import KinemaError
from kinema.export.convert import convert
from kinema.export.write import write
from kinema.motion.motion import Motion, rotation_angles
from kinema.motion.source import find_motion
from kinema.rig.kinematics import Rig

SUFFIXES = (".npz", ".bvh", ".json", ".glb", ".gltf")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_motion_comes_back(fox: Character, rig: Rig, walk: Motion, tmp_path: Path, suffix: str) -> None:
    """Also for a character whose file has other axes and units."""
    turned = np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]])
    for place, frame in enumerate((Frame(), Frame(turned, 0.01, np.array([1.0, 0, 3])))):
        character = replace(fox, frame=frame)
        path = tmp_path / f"walk{place}{suffix}"
        write(path, character, walk)
        _, back = find_motion(character, str(path))
        assert back.fps == walk.fps
        # glTF and BVH hold no facing and no ground: a new file is read in the place that is found for it.
        apart = (back.root_position - walk.root_position).numpy()
        assert np.abs(apart - (apart[:1] if suffix in (".glb", ".gltf") else 0)).max() < 1e-4
        assert float(rotation_angles(rig, back, walk).max()) < 1e-3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_convert_writes_a_motion_of_a_creature(fox: Character, walk: Motion, tmp_path: Path, suffix: str) -> None:
    """From the words of a creature and what the viewer gave, to a GLB with that clip alone."""
    write(tmp_path / f"posed{suffix}", fox, walk)
    convert("fox", tmp_path / "out.glb", motion=str(tmp_path / f"posed{suffix}"))
    assert [clip.name for clip in load(tmp_path / "out.glb").clips] == ["posed"]
    rig, made = find_motion(fox, str(tmp_path / "out.glb"))
    np.testing.assert_allclose(made.pose(rig).numpy(), walk.pose(rig).numpy(), atol=1e-4)


def test_convert_says_what_does_not_fit(fox: Character, walk: Motion, tmp_path: Path) -> None:
    out, posed = tmp_path / "out.glb", str(tmp_path / "posed.json")
    write(tmp_path / "posed.json", fox, walk)
    write(tmp_path / "posed.glb", fox, walk)
    write(tmp_path / "still.json", fox)
    with pytest.raises(KinemaError, match=r"posed.json: .* joints are not those of human"):
        convert("human", out, motion=posed)
    with pytest.raises(KinemaError, match="joints are not those"):
        convert("human", out, motion=str(tmp_path / "posed.glb"))
    with pytest.raises(KinemaError, match="has joints but no motion"):
        convert("fox", out, motion=str(tmp_path / "still.json"))
    with pytest.raises(KinemaError, match="--clip walk"):
        convert("fox", out, motion=posed, clip="walk")
    content = json.loads((tmp_path / "posed.json").read_text())
    for key, value in (
        ("fps", 0), ("fps", "fast"), ("root_position", [[1, 2]]), ("root_position", "x"), ("wxyz_parent_joint", [[]]),
        ("root_position", []), ("wxyz_parent_joint", None), ("translation", [[[1e99]]]), ("fps", 1e9),
    ):  # fmt: skip
        damaged = {**content, "motion": {**content["motion"], key: value}}
        (tmp_path / "damaged.json").write_text(json.dumps(damaged))
        with pytest.raises(KinemaError, match=r"damaged\.json: "):
            find_motion(fox, str(tmp_path / "damaged.json"))
    assert not out.exists()
