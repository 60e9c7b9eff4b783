"""Bodies without steps: waves along the body and wing beats, measured on joint positions."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from kinema.create.creatures import creature
from kinema.evaluate.metrics import measure
from kinema.evaluate.undulation import BodyWave, WingBeat, body_wave, wing_beat
from kinema.evaluate.verdict import verdict
from kinema.gait.make import can_do, make_motion
from kinema.gait.motions import MOTIONS
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs


@cache
def prepared(name: str) -> tuple[Rig, Limbs]:
    character = creature(name, detail="low")
    assert character.skeleton is not None
    return Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character)


def wave_of(rig: Rig, limbs: Limbs, motion: Motion) -> BodyWave:
    wave = body_wave(motion.pose(rig).double().numpy(), limbs, rig.parents, fps=motion.fps)
    assert wave is not None
    return wave


def beat_of(rig: Rig, limbs: Limbs, motion: Motion) -> WingBeat:
    beat = wing_beat(motion.pose(rig).double().numpy(), limbs, fps=motion.fps)
    assert beat is not None
    return beat


@pytest.mark.parametrize("name", ["fish", "dolphin", "eel"])
@pytest.mark.parametrize("motion", ["swim", "swim_fast"])
def test_the_wave_runs_back_faster_than_the_body_swims(name, motion):
    rig, limbs = prepared(name)
    made, _ = make_motion(rig, limbs, motion, frames=49, fps=24.0, period=1.0)
    wave = wave_of(rig, limbs, made)
    assert wave.period == pytest.approx(1.0, rel=0.03)
    # Slip: a swimmer is slower than its wave (Lighthill 1960).
    assert wave.speed is not None
    assert wave.speed > 1.1 * wave.advance
    assert wave.tail > 1.6 * wave.nose
    assert wave.level == (name == "dolphin")


def test_a_cycle_begins_when_the_tail_passes_the_middle_to_the_left():
    rig, limbs = prepared("fish")
    motion, _ = make_motion(rig, limbs, "swim", frames=41, fps=40.0, period=1.0, phase=0.0)
    flesh = limbs.probes[limbs.tail[-1]]
    end = flesh[flesh[:, 2].argmin()] * [0, 1, 1]
    pose = motion.pose(rig)[:, limbs.tail[-1]].numpy()
    tip = (pose[..., :3] @ end + pose[..., 3])[:, 0]
    assert abs(tip[0]) < 0.2 * np.abs(tip).max()
    assert tip[3] - tip[0] > 0.2 * np.abs(tip).max()
    np.testing.assert_allclose(tip[0], tip[40], atol=1e-9)
    later, _ = make_motion(rig, limbs, "swim", frames=2, fps=40.0, period=1.0, phase=0.25)
    np.testing.assert_allclose(later.pose(rig)[0, limbs.tail[-1], 0, 3], pose[10, 0, 3], atol=1e-9)


@pytest.mark.parametrize("motion", ["slither", "slither_fast"])
@pytest.mark.parametrize("pace", [0.75, 1.0, 1.25])
def test_a_snake_follows_its_own_track(motion, pace):
    rig, limbs = prepared("snake")
    speed = pace * MOTIONS[motion].gait.stride
    made, label = make_motion(rig, limbs, motion, frames=49, fps=24.0, period=1.0, speed=speed)
    assert wave_of(rig, limbs, made).slip < 0.12
    travel = (made.root_position[24] - made.root_position[0]).numpy()
    np.testing.assert_allclose(travel, [0, 0, label.speed * limbs.leg_length], atol=1e-6 * limbs.leg_length)
    # The same bends without the way that belongs to them slip.
    slower = type(made)(made.root_position * torch.tensor([1.0, 1.0, 0.3]), made.angles, made.fps)
    assert wave_of(rig, limbs, slower).slip > 0.3


@pytest.mark.parametrize("name", ["eagle", "dragon", "chicken"])
def test_wings_beat_from_the_top_and_fold_on_the_upstroke(name):
    rig, limbs = prepared(name)
    motion, label = make_motion(rig, limbs, "fly", frames=49, fps=24.0, period=1.0)
    beat = beat_of(rig, limbs, motion)
    assert beat.period == pytest.approx(1.0, rel=0.03)
    assert abs((beat.phase + 0.5) % 1 - 0.5) < 0.12
    assert beat.stroke_deg > 50
    if name != "chicken":
        assert beat.upstroke_span < 0.93 * beat.downstroke_span
    # Nothing touches the ground.
    pose = motion.pose(rig).numpy()
    flesh = (pose[:, :, None, :, :3] @ limbs.probes[..., None])[..., 0] + pose[:, :, None, :, 3]
    assert flesh[..., 1].min() > 0
    np.testing.assert_allclose((motion.root_position[24] - motion.root_position[0])[2], label.speed * limbs.leg_length)


def test_gliding_wings_are_still():
    rig, limbs = prepared("eagle")
    fly, _ = make_motion(rig, limbs, "fly", frames=49, fps=24.0, period=1.0)
    glide, _ = make_motion(rig, limbs, "glide", frames=49, fps=24.0, period=1.0)
    assert beat_of(rig, limbs, glide).stroke_deg < 0.25 * beat_of(rig, limbs, fly).stroke_deg


def test_what_a_body_cannot_do_is_known():
    fish, bird, snake = (prepared(name)[1] for name in ("fish", "crow", "snake"))
    assert can_do(fish, MOTIONS["swim"])
    assert not can_do(fish, MOTIONS["walk"])
    assert not can_do(snake, MOTIONS["fly"])
    assert can_do(bird, MOTIONS["fly"])
    assert can_do(bird, MOTIONS["walk"])
    assert not can_do(bird, MOTIONS["slither"])


def test_a_crab_goes_sideways():
    rig, limbs = prepared("crab")
    motion, label = make_motion(rig, limbs, "sidle", frames=25, fps=24.0, period=1.0)
    travel = (motion.root_position[-1] - motion.root_position[0]).numpy()
    np.testing.assert_allclose(travel, [label.speed * limbs.leg_length, 0, 0], atol=1e-9)
    assert limbs.body in MOTIONS["sidle"].shares


def test_what_flies_or_swims_stands_on_no_foot() -> None:
    aloft = {name for name, kind in MOTIONS.items() if kind.aloft}
    assert {"fly", "glide", "hover", "swim", "swim_fast", "coast"} <= aloft
    assert not aloft & {"walk", "jump", "slither", "stand", "hop"}


@pytest.mark.parametrize(
    ("name", "motion"), [("fish", "swim"), ("snake", "slither"), ("eagle", "fly"), ("dog", "walk")]
)
def test_a_body_without_steps_is_measured_by_its_wave_and_its_wings(name, motion):
    character = creature(name, detail="low")
    rig, limbs = prepared(name)
    made, _ = make_motion(rig, limbs, motion, frames=49, fps=24.0, period=1.0)
    limbs = replace(limbs, ground=limbs.ground and motion != "fly")
    found = measure(character, made, rig=rig, limbs=limbs, mesh=False).as_dict()
    steps = name == "dog"
    assert ("slide" in found) == ("phases" in found) == steps
    assert ("wing_stroke" in found) == (name in ("fish", "eagle"))
    assert ("wave_speed" in found) == (name in ("fish", "snake"))
    json.dumps(found)
    assert verdict(found, wanted=motion).colour == "green"
    if motion == "fly":
        assert found["wing_period"] == pytest.approx(1.0, rel=0.03)
        assert verdict(found | {"wing_stroke": 9.0}, wanted="fly").colour == "amber"
    elif not steps:
        assert found["wave_speed"] > found["advance"] > 0
        # The same film backwards: the wave runs to the head.
        turned = Motion(made.root_position.flip(0), made.angles.flip(0), made.fps)
        back = measure(character, turned, rig=rig, limbs=limbs, mesh=False).as_dict()
        assert verdict(back, wanted=motion).colour == "amber"
        assert found["wave_period"] == pytest.approx(1.0, rel=0.04)
