"""A root bone carries the travel; the whole moves as before."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinema.asset.character import Character, Clip
from kinema.asset.load import load
from kinema.asset.options import NameOptions
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.export.root_bone import SLOW, with_root_bone, with_root_motion
from kinema.export.timing import as_clip, world_transforms
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def walking(words: str = "a fox") -> tuple[Character, Clip]:
    character = creature(words, detail="low")
    assert character.skeleton is not None
    motion, _ = make_motion(Rig.from_skeleton(character.skeleton), find_limbs(character), "walk", frames=61, fps=30.0)
    return character, replace(as_clip(character, motion), name="walk")


def test_root_and_hips_together_move_as_before():
    character, clip = walking()
    rooted, moved = with_root_bone(character, "root"), with_root_motion(character, clip)
    assert rooted.skeleton is not None
    assert character.skeleton is not None
    assert_allclose(
        world_transforms(rooted.skeleton, moved)[:, 1:], world_transforms(character.skeleton, clip), atol=1e-9
    )
    assert_allclose(rooted.skeleton.heads[0], 0)
    assert_allclose(moved.root_position[0], 0)
    assert_allclose(moved.root_position[:, 1], 0)


def test_the_root_travels_and_the_hips_sway():
    character, clip = walking()
    moved = with_root_motion(character, clip)
    travel = clip.root_position[-1, 2] - clip.root_position[0, 2]
    assert_allclose(moved.root_position[-1, 2], travel, atol=1e-9)
    # The root runs evenly: its speed changes far less than that of the hips.
    speed, before = np.diff(moved.root_position[:, 2]), np.diff(clip.root_position[:, 2])
    assert (speed > 0).all()
    assert np.ptp(speed) < 0.5 * np.ptp(before)


def test_slow_waves_are_travel_and_fast_ones_are_not():
    character, clip = walking()
    seconds = np.arange(161) / 16
    for period, stays in ((4 * SLOW, True), (0.4 * SLOW, False)):
        # x(t) = sin(2 pi t / period) over whole half-waves
        x = np.sin(2 * np.pi * seconds / period)
        root = np.stack((x, np.ones(161), seconds), -1)
        long = Clip("way", 16.0, root, np.repeat(clip.wxyz_parent_joint[:1], 161, 0))
        found = with_root_motion(character, long).root_position[:, 0]
        assert np.ptp(found) > 1.8 if stays else np.ptp(found) < 0.2


@pytest.mark.parametrize("again", [False, True])
def test_a_glb_with_a_root_bone_reads_back_as_the_same_motion(tmp_path, again):
    character, clip = walking()
    if again:
        # Of a file, the node is put above its own joints, and its own clips stay as they were.
        write(tmp_path / "file.glb", character, clip)
        character = load(tmp_path / "file.glb")
    options = NameOptions(names="unreal", root_bone=True, clip_name="Walk_Fwd")
    write(tmp_path / "out.glb", character, clip, naming=options, keep_clips=again)
    back = load(tmp_path / "out.glb")
    assert back.skeleton is not None
    assert character.skeleton is not None
    assert {"Walk_Fwd"} | ({"walk"} if again else set()) == {one.name for one in back.clips}
    # The reader may leave the root bone out again: it carries nothing.
    tip = back.skeleton.names.index("head")
    own = character.skeleton.names.index("head")
    expected = world_transforms(character.skeleton, clip)[:, own, :3, 3]
    for one in back.clips:
        found = world_transforms(back.skeleton, one)[:, tip, :3, 3]
        assert_allclose(found - found[:1], expected - expected[:1], atol=2e-4)


def test_a_simulated_body_has_none(tmp_path):
    character, clip = walking()
    with pytest.raises(KinemaError, match="--root-bone"):
        write(tmp_path / "fox.xml", character, clip, naming=NameOptions(root_bone=True))


def test_names_of_clips_must_be_as_many(tmp_path):
    character, clip = walking()
    with pytest.raises(KinemaError, match=r"--clip-name a,b: names 2 clips, but there are 3"):
        write(tmp_path / "fox.glb", character, [clip] * 3, naming=NameOptions(clip_name="a,b"))
