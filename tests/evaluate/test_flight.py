"""Whoever leaves the ground comes down as soon as gravity lets him; a body that does not hangs in the air."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from kinema.create.creatures import creature
from kinema.evaluate.metrics import measure
from kinema.evaluate.verdict import BOUNDS, verdict
from kinema.gait.make import make_motion
from kinema.motion.flight import hanging
from kinema.motion.motion import GRAVITY, Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

FPS = 24.0


@pytest.mark.parametrize("rise", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("fps", [24.0, 60.0])
def test_a_thrown_body_never_hangs_and_a_slow_one_does(rise: float, fps: float) -> None:
    half = np.sqrt(2 * rise / GRAVITY)
    time = np.arange(-1.0, 1.5, 1 / fps)
    height = np.maximum(rise - GRAVITY * time**2 / 2, 0.0)
    for first in (0, len(time) // 3, int(fps)):  # the clip may begin up there
        low = height[first:]
        assert hanging(low, low + 0.9, fps=fps, leg=0.8, ends=True) < 0.02
    # At a quarter of the gravity three quarters of its weight are borne by nothing, and it is up for twice as long.
    slow = np.maximum(rise - GRAVITY * time**2 / 8, 0.0)
    if half < 0.5:
        found = hanging(slow, slow + 0.9, fps=fps, leg=0.8, ends=True)
        assert found == pytest.approx(0.75 * 4 * half, abs=0.15)
    # A loop goes on where it ends; a clip that ends up there misses the fall.
    top = height[: int(fps) + 1]
    assert hanging(top, top + 0.9, fps=fps, leg=0.8, ends=False) < 0.02
    assert hanging(top, top + 0.9, fps=fps, leg=0.8, ends=True) == pytest.approx(half, abs=0.03)


@pytest.fixture(scope="module")
def jump():
    human = creature("human", detail="low")
    rig, limbs = Rig.from_skeleton(human.skeleton), find_limbs(human)
    return human, rig, limbs, make_motion(rig, limbs, "jump", frames=49, fps=FPS, phase=-0.1)[0]


def held(motion: Motion, frame: int, frames: int, *, to_the_end: bool = False) -> Motion:
    """The motion, stopped at a frame for so many frames."""
    order = [*range(frame), *[frame] * frames, *([] if to_the_end else range(frame, len(motion)))]
    return Motion(motion.root_position[order], motion.angles[order], motion.fps)


def test_a_jump_is_fine_and_one_that_stops_at_its_top_is_not(jump) -> None:
    human, rig, limbs, motion = jump
    whole = measure(human, motion, rig=rig, limbs=limbs)
    assert whole.floating > 0.05  # it leaves the ground
    assert whole.hang < BOUNDS["hang"].good / 2
    top = int(motion.root_position[:, 1].argmax())
    rising = Motion(motion.root_position.clone(), motion.angles, motion.fps)
    rising.root_position[20:, 1] += torch.linspace(0, 0.6, 29)
    clips = {
        "at the top": held(motion, top, 20),
        "at the end": held(motion, top, 20, to_the_end=True),
        "rises": rising,
    }
    for name, clip in clips.items():
        found = measure(human, clip, rig=rig, limbs=limbs)
        judged = verdict(whole.as_dict() | {"hang": found.hang}, wanted="jump")
        assert found.hang > 0.5, name
        assert judged.colour == "red", name
        assert "it hangs in the air" in judged.reason
        # Who flies or climbs is held by something.
        for wanted in ("fly", "climb"):
            assert verdict(whole.as_dict() | {"hang": found.hang}, wanted=wanted).reason.find("hangs") < 0


def test_who_lies_on_the_ground_does_not_hang_and_nothing_hangs_without_a_ground(jump) -> None:
    human, rig, limbs, _ = jump
    lying, _ = make_motion(rig, limbs, "lie", frames=49, fps=FPS, phase=-0.1)
    assert measure(human, lying, rig=rig, limbs=limbs).hang < BOUNDS["hang"].good
    raised = Motion(lying.root_position + torch.tensor([0.0, 0.3, 0.0]), lying.angles, lying.fps)
    assert measure(human, raised, rig=rig, limbs=limbs).hang > 1
    assert measure(human, raised, rig=rig, limbs=replace(limbs, ground=False)).hang == 0
