"""What shakes a simulated body for a few frames is taken out of what it did; what it changed slowly stays."""

import pytest
import torch

from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.motion.bursts import without_bursts
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def walk() -> tuple[Rig, Motion, int]:
    fox = creature("fox", detail="low")
    assert fox.skeleton is not None
    rig = Rig.from_skeleton(fox.skeleton)
    limbs = find_limbs(fox)
    motion, _ = make_motion(rig, limbs, "walk", frames=60, fps=24.0)
    return rig, motion, limbs.legs[0].joints[1]


def changed(motion: Motion, by: torch.Tensor) -> Motion:
    return Motion(motion.root_position, motion.angles + by, motion.fps)


def test_a_burst_goes_and_a_slow_change_stays(walk: tuple[Rig, Motion, int]) -> None:
    rig, motion, knee = walk
    slow = torch.zeros_like(motion.angles)
    slow[:, knee, 0] = 0.2 * torch.sin(torch.linspace(0, 3, 60))
    burst = slow.clone()
    burst[30:32, knee, 0] += torch.tensor([0.25, -0.2])
    found = without_bursts(rig, motion, changed(motion, burst))
    left = (found.angles - motion.angles - slow)[:, knee, 0].abs()
    assert left[28:34].max() < 0.03
    # Away from the burst only the end of the smoothing is felt.
    assert left[[*range(20), *range(42, 60)]].max() < 0.02
    assert (found.angles - motion.angles - slow)[:, :knee].abs().max() < 1e-6


def test_a_body_that_is_calmer_than_what_it_follows_stays_as_it_is(walk: tuple[Rig, Motion, int]) -> None:
    rig, motion, _ = walk
    rng = torch.Generator().manual_seed(0)
    shaken = changed(motion, 0.03 * torch.randn(motion.angles.shape, generator=rng))
    assert without_bursts(rig, shaken, motion) is motion
    assert without_bursts(rig, motion[:3], motion[:3]).angles.equal(motion.angles[:3])


def test_the_root_is_calmed_with_the_joints(walk: tuple[Rig, Motion, int]) -> None:
    rig, motion, knee = walk
    burst, root = torch.zeros_like(motion.angles), motion.root_position.clone()
    burst[30:32, knee, 0] = 0.3
    root[30, 1] += 0.05
    found = without_bursts(rig, motion, Motion(root, motion.angles + burst, motion.fps))
    rise = (found.root_position - motion.root_position)[:, 1].abs()
    assert rise.max() < 0.01
