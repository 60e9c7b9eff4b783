from dataclasses import replace

import numpy as np
import pytest
import torch

from kinema.asset.character import Character, Clip, Frame, Mesh, Skeleton
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.evaluate.metrics import measure
from kinema.export.timing import arrange, as_clip, close_loop, hold_in_place, in_file_frame, resample, world_transforms
from kinema.gait.make import make_motion
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.motion.loop import repeat
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig, place_joints
from kinema.rig.limbs import find_limbs

SKELETON = Skeleton(("a", "b"), (-1, 0), np.array([[0.0, 1, 0], [0, 1, 1]]), np.array([[0.0, 1, 1], [0, 1, 2]]))
BODY = Character("bones", Mesh(SKELETON.heads, np.zeros((0, 3), int), np.ones((2, 3))), SKELETON)


def turning(degrees: np.ndarray, *, speed: float = 0.1, fps: float = 24.0) -> Clip:
    """Joint b turns about x by the given angles while the root walks along z."""
    half = np.deg2rad(degrees) / 2
    wxyz = np.zeros((len(degrees), 2, 4))
    wxyz[:, 0, 0] = 1
    wxyz[:, 1, 0], wxyz[:, 1, 1] = np.cos(half), np.sin(half)
    root = np.stack((0 * half, 1 + 0 * half, speed * np.arange(len(degrees))), -1)
    return Clip("turn", fps, root, wxyz)


def angle(clip: Clip) -> np.ndarray:
    return np.rad2deg(2 * np.arctan2(clip.wxyz_parent_joint[:, 1, 1], clip.wxyz_parent_joint[:, 1, 0]))


def test_resampling_keeps_the_seconds_and_the_speed() -> None:
    # A turn at constant speed stays one: angle(t) is linear in t.
    clip = resample(turning(np.linspace(0, 150, 25)), 60.0)
    assert clip.fps == 60
    assert len(clip.root_position) == 61
    np.testing.assert_allclose(angle(clip), np.linspace(0, 150, 61), atol=1e-9)
    np.testing.assert_allclose(clip.root_position[:, 2], np.linspace(0, 2.4, 61), atol=1e-12)
    with pytest.raises(KinemaError, match="--fps 0: is not a frame rate"):
        resample(clip, 0.0)


def test_in_place_leaves_only_the_sway() -> None:
    clip = turning(np.zeros(49))
    sway = np.sin(np.linspace(0, 4 * np.pi, 49))
    clip = replace(clip, root_position=clip.root_position + sway[:, None] * [0.2, 0.1, 0.05])
    still = hold_in_place(clip)
    expected = clip.root_position[:1] + sway[:, None] * [0.2, 0.1, 0.05]
    np.testing.assert_allclose(still.root_position, expected, atol=1e-12)


def test_open_clip_is_closed_by_an_even_correction() -> None:
    # 0 -> 40 degrees: subtracting a ramp of 40 degrees leaves the first pose everywhere.
    closed = close_loop(BODY, turning(np.linspace(0, 40, 25)))
    np.testing.assert_allclose(angle(closed), 0, atol=1e-9)
    assert len(closed.root_position) == 25
    # The travel stays: root motion is not part of the loop.
    np.testing.assert_allclose(closed.root_position[:, 2], 0.1 * np.arange(25))


def test_cycle_that_lacks_its_last_frame_gets_it() -> None:
    t = np.arange(24) / 24
    closed = close_loop(BODY, turning(30 * np.sin(2 * np.pi * t)))
    assert len(closed.root_position) == 25
    np.testing.assert_allclose(angle(closed), 30 * np.sin(2 * np.pi * np.arange(25) / 24), atol=1e-9)
    np.testing.assert_allclose(closed.root_position[:, 2], 0.1 * np.arange(25), atol=1e-12)


def test_closed_cycle_stays_as_it_is() -> None:
    clip = turning(30 * np.sin(2 * np.pi * np.arange(25) / 24))
    closed = arrange(BODY, clip, loop=True)
    np.testing.assert_allclose(closed.wxyz_parent_joint, clip.wxyz_parent_joint, atol=1e-12)
    assert len(closed.root_position) == 25


def sliding(clip: Clip, by: np.ndarray) -> Clip:
    translation = np.zeros((len(by), 2, 3))
    translation[:, 1] = by[:, None] * [0.1, 0.2, 0.3]
    return replace(clip, translation=translation)


def slid(clip: Clip) -> np.ndarray:
    assert clip.translation is not None
    return clip.translation[:, 1] @ [0.1, 0.2, 0.3] / 0.14


def test_slides_are_resampled_linearly_and_closed_with_the_loop() -> None:
    ramp = np.linspace(0, 1, 25)
    np.testing.assert_allclose(slid(resample(sliding(turning(150 * ramp), ramp), 60.0)), np.linspace(0, 1, 61))
    np.testing.assert_allclose(slid(close_loop(BODY, sliding(turning(40 * ramp), ramp))), 0, atol=1e-12)
    wave = np.sin(2 * np.pi * np.arange(24) / 24)
    closed = close_loop(BODY, sliding(turning(30 * wave), 2 + wave))
    np.testing.assert_allclose(slid(closed), 2 + np.sin(2 * np.pi * np.arange(25) / 24))


def test_file_frame_is_the_inverse_similarity() -> None:
    clip = sliding(turning(np.linspace(0, 90, 5)), np.arange(5.0))
    turn = np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]])
    frame = Frame(turn, 0.01, np.array([1.0, 2, 3]))
    world = world_transforms(SKELETON, clip)[..., :3, 3]
    file = world_transforms(*in_file_frame(frame, SKELETON, clip))[..., :3, 3]
    np.testing.assert_allclose(frame.scale * file @ turn.T + frame.translation, world, atol=1e-12)


def test_world_transforms_are_those_of_the_rig() -> None:
    clip = sliding(turning(np.linspace(0, 90, 5)), np.arange(5.0))
    assert clip.translation is not None
    rotations = quaternion_to_matrix(torch.from_numpy(clip.wxyz_parent_joint))
    rig = Rig.from_skeleton(SKELETON, dtype=torch.float64)
    expected = place_joints(rig, torch.from_numpy(clip.root_position), rotations, torch.from_numpy(clip.translation))
    np.testing.assert_allclose(world_transforms(SKELETON, clip)[..., :3, :], expected.numpy(), atol=1e-12)


GAITS = (
    ("fox", "walk", 2.5), ("fox", "trot", 2.3), ("fox", "gallop", 2.7), ("horse", "walk", 2.6), ("horse", "trot", 2.4),
    ("human", "walk", 2.5), ("human", "run", 2.65), ("ostrich", "walk", 2.45), ("ostrich", "run", 2.3),
    ("spider", "walk", 2.55),
)  # fmt: skip


@pytest.mark.parametrize(("name", "gait", "cycles"), GAITS)
def test_a_looped_gait_is_as_clean_as_the_clip(name: str, gait: str, cycles: float) -> None:
    body = creature(name)
    assert body.skeleton is not None
    rig, limbs = Rig.from_skeleton(body.skeleton, dtype=torch.float64), find_limbs(body)
    motion, _ = make_motion(rig, limbs, gait, frames=49, fps=24.0, phase=0.2, period=2 / cycles)
    clip = arrange(body, as_clip(body, motion), loop=True)
    period = 48 / cycles
    assert len(clip.root_position) - 1 == pytest.approx(2 * period, abs=0.7)  # two whole periods, in whole frames
    np.testing.assert_allclose(np.abs((clip.wxyz_parent_joint[0] * clip.wxyz_parent_joint[-1]).sum(-1)), 1, atol=1e-9)
    loop = Motion.from_clip(rig, clip)
    once, thrice = (measure(body, one, rig=rig, limbs=limbs) for one in (motion, repeat(loop, 3)))
    assert thrice.gait == once.gait
    assert thrice.slide <= max(
        1.1 * once.slide, once.slide + 0.01
    )  # of the speed; a stance may be found a frame longer
    assert thrice.jerk <= 1.1 * once.jerk
    travel = float((motion.root_position[-1, 2] - motion.root_position[0, 2]) / 48)
    assert float(loop.root_position[-1, 2] - loop.root_position[0, 2]) == pytest.approx(travel * 2 * period, rel=0.05)
    still = arrange(body, as_clip(body, motion), loop=True, in_place=True)
    np.testing.assert_allclose(still.root_position[-1], still.root_position[0], atol=1e-9)


def test_one_frame_too_many_is_cut_not_closed_by_a_step_back() -> None:
    body = creature("fox")
    assert body.skeleton is not None
    rig = Rig.from_skeleton(body.skeleton, dtype=torch.float64)
    motion, _ = make_motion(rig, find_limbs(body), "trot", frames=42, fps=24.0, period=20 / 24)
    assert len(arrange(body, as_clip(body, motion), loop=True).root_position) == 41
