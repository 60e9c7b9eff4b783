"""Bar: names and root bone of twelve characters as asked, judged in Blender: bones are called as the engine has it, the
only bone without a parent is the root, it starts at the origin and carries the travel, and every bone is where our own
kinematics has it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judges import HERE, needs_blender

from kinema.asset.blender import run_blender
from kinema.asset.character import Character, Clip
from kinema.asset.load import load
from kinema.asset.options import NameOptions
from kinema.create.creatures import creature
from kinema.export.names.conventions import CONVENTIONS
from kinema.export.names.rename import renamed, root_name
from kinema.export.root_bone import with_root_bone, with_root_motion
from kinema.export.timing import as_clip, to_file, world_transforms
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

FPS, FRAMES, BAR = 24.0, 13, 1e-4
MADE = {
    "human": ("a human", "unreal", "walk"),
    "horse": ("a horse", "unity", "walk"),
    "spider": ("a spider", "unreal", "walk"),
    "eagle": ("an eagle", "godot", "fly"),
    "dragon": ("a dragon", "mixamo", "walk"),
    "shark": ("a shark", "vrm", "swim"),
}
FILES = {
    "m2m_human": ("mixamo", "walk"),
    "rocketbox_woman": ("godot", "walk"),
    "quat_wolf": ("unity", "walk"),
    "m2m_fox": ("unreal", "walk"),
    "m2m_spider": ("unreal", "walk"),
    "rocketbox_horse_brown": ("vrm", "walk"),
}


def moving(character: Character, kind: str) -> Clip:
    assert character.skeleton is not None
    limbs = find_limbs(character)
    motion, _ = make_motion(Rig.from_skeleton(character.skeleton), limbs, kind, frames=FRAMES, fps=FPS)
    return replace(as_clip(character, motion), name="asked")


def judged(tmp_path: Path, cast: dict[str, tuple[Character, str, str]]) -> None:
    expected = {}
    for name, (character, names, kind) in cast.items():
        clip = moving(character, kind)
        options = NameOptions(names=names, root_bone=True, clip_name="asked")  # pyright: ignore[reportArgumentType]
        write(tmp_path / f"{name}.glb", character, clip, naming=options, keep_clips=False)
        root = root_name(options.names)
        dressed = renamed(character, options.names, reserved=(root,))
        expected[name] = with_root_bone(dressed, root), with_root_motion(dressed, clip), options.names
    out = tmp_path / "seen.json"
    files = [str(tmp_path / f"{name}.glb") for name in cast]
    run_blender(HERE / "blender_bones.py", [str(out), str(FPS), str(FRAMES), *files], about=out, timeout=590.0)
    seen = json.loads(out.read_text())
    for name, (character, clip, names) in expected.items():
        skeleton, bones = character.skeleton, seen[name]["bones"]
        assert skeleton is not None
        assert seen[name]["actions"] == ["asked"] or seen[name]["actions"][0].startswith("asked")
        assert set(skeleton.names) <= set(bones), name
        assert {CONVENTIONS[names].root, CONVENTIONS[names].hips} <= set(bones)
        assert [bone for bone, found in bones.items() if found["parent"] is None] == [skeleton.names[0]], name
        frame = character.frame
        ours = to_file(frame, world_transforms(skeleton, clip)[..., :3, 3])
        size = float(np.ptp(to_file(frame, skeleton.heads), axis=0).max())
        for joint, bone in enumerate(skeleton.names):
            away = np.linalg.norm(np.array(bones[bone]["path"]) - ours[:, joint], axis=-1).max()
            assert away < BAR * size, (name, bone, away / size)
        root = np.array(bones[skeleton.names[0]]["path"])
        np.testing.assert_allclose(root[0], to_file(frame, np.zeros(3)), atol=BAR * size)


@needs_blender
@pytest.mark.slow
def test_built_in_characters(tmp_path: Path) -> None:
    judged(tmp_path, {name: (creature(words), names, kind) for name, (words, names, kind) in MADE.items()})


@needs_blender
@pytest.mark.slow
def test_characters_of_files(tmp_path: Path, shared_data: Path) -> None:
    assets = shared_data / "library" / "assets"
    judged(tmp_path, {name: (load(assets / f"{name}.glb"), *asked) for name, asked in FILES.items()})
