"""Clips joined through the pose space: they stay as they are, and heading, place, speed and feet go on."""

import dataclasses

import pytest
import torch

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.evaluate.metrics import measure
from kinema.gait.make import make_motion
from kinema.motion.feet import find_feet
from kinema.motion.motion import Motion
from kinema.posespace.join import Joined, join, turned
from kinema.posespace.pose import Poses
from kinema.posespace.space import PoseSpace
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def trot(fox: Character, rig: Rig) -> Motion:
    return make_motion(rig, find_limbs(fox), "trot", frames=24, fps=24.0)[0]


@pytest.fixture(scope="module")
def joined(space: PoseSpace, rig: Rig, walk: Motion, trot: Motion) -> Joined:
    """A walk to the left by 0.8 rad, then a trot that was made straight ahead."""
    return join(space, find_limbs(space.character), [turned(rig, walk, 0.8), trot])


def test_turning_a_motion_turns_every_joint_about_the_origin(rig: Rig, walk: Motion) -> None:
    c, s = torch.cos(torch.tensor(0.8)), torch.sin(torch.tensor(0.8))
    about = torch.tensor([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    torch.testing.assert_close(turned(rig, walk, 0.8).pose(rig), about @ walk.pose(rig), atol=1e-5, rtol=0)


def test_the_clips_keep_their_poses(joined: Joined, rig: Rig, walk: Motion, trot: Motion) -> None:
    (a, b), (c, d) = joined.spans
    assert (a, d) == (0, len(joined.motion) - 1)
    for clip, span in ((walk[: b + 1], (a, b)), (trot[len(trot) - 1 - d + c :], (c, d))):
        own, now = (Poses.of_motion(rig, m) for m in (clip, joined.motion[span[0] : span[1] + 1]))
        torch.testing.assert_close(now.rotations, own.rotations, atol=1e-4, rtol=0)
        torch.testing.assert_close(now.height, own.height, atol=1e-5, rtol=0)


def test_heading_place_and_speed_go_on(joined: Joined, walk: Motion, trot: Motion) -> None:
    (_, b), (c, _) = joined.spans
    path = joined.motion.root_position
    # The trot goes on to the left by 0.8 rad: (sin, cos) of the way after the join.
    way = path[-1] - path[c]
    assert float(torch.atan2(way[0], way[2])) == pytest.approx(0.8, abs=0.1)
    steps = path.diff(dim=0).norm(dim=-1)
    assert float(steps[b - 1 : c + 1].max()) < 1.3 * float(max(steps[:b].max(), steps[c:].max()))
    assert joined.motion.angles.diff(dim=0).abs().amax() < 3.0  # another branch of the angles is half a turn away


def test_feet_stand_or_step_over_the_join(space: PoseSpace, rig: Rig, fox: Character, walk: Motion) -> None:
    limbs, still = find_limbs(fox), Motion.rest(rig, frames=12, fps=24.0)
    joined = join(space, limbs, [walk, still])
    (_, b), (c, _) = joined.spans
    placed = joined.motion[b : c + 1].pose(rig)
    heights = torch.stack([foot.at(placed)[..., 1].amin(1) for foot in find_feet(limbs)]) / limbs.leg_length
    places = torch.stack([foot.at(placed).mean(1)[:, [0, 2]] for foot in find_feet(limbs)]) / limbs.leg_length
    moved = places.diff(dim=1).norm(dim=-1)
    low = (heights[:, 1:] < 0.02) & (heights[:, :-1] < 0.02)
    assert float(heights.min()) > -0.02
    # Two feet of four or more bear the body at any time, and none is dragged over the ground but as it lands.
    assert int(((moved < 0.02) & low).sum(0).min()) >= 2
    assert float(moved[low].max()) < 0.07
    # Those that have farther to go are lifted.
    far = (places[:, -1] - places[:, 0]).norm(dim=-1) > 0.2
    assert bool(far.any())
    assert float(heights[far].amax(1).min()) > 0.04
    assert measure(fox, joined.motion, rig=rig, limbs=limbs).slide < 0.02


def test_clips_of_two_frame_rates_are_joined_at_the_higher(space: PoseSpace, walk: Motion) -> None:
    joined = join(space, find_limbs(space.character), [walk, walk.resample(30.0)])
    assert joined.motion.fps == 30


def test_what_cannot_be_joined_is_refused(space: PoseSpace, walk: Motion) -> None:
    sliding = dataclasses.replace(walk, translation=torch.zeros_like(walk.angles))
    with pytest.raises(KinemaError, match="turn joints only"):
        join(space, find_limbs(space.character), [walk, sliding])
