import numpy as np
import pytest
import torch
from gait_bodies import biped, quadruped

from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.gait.plan import GaitBody
from kinema.gait.recorded import load_recordings, motion_name, recorded_motion
from kinema.gait.retarget import Recording, nail, retarget
from kinema.motion.feet import find_cycle, find_stance, ground_speed, track_feet
from kinema.motion.loop import cut_cycle
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def body_of(character) -> GaitBody:
    return GaitBody.of(Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character))


def test_nailed_feet_stand():
    contact = np.stack((np.linspace(0, 1, 20), np.abs(np.sin(np.arange(20) / 3)), np.linspace(0, 2, 20)), -1)
    standing = np.zeros(20, dtype=bool)
    standing[3:8] = standing[14:18] = True
    fixed = nail(contact, standing)
    assert np.ptp(fixed[3:8], axis=0).max() == 0
    assert np.ptp(fixed[14:18], axis=0).max() == 0
    assert (fixed[standing][:, 1] == 0).all()
    np.testing.assert_allclose(fixed[3:8, 0].mean(), contact[3:8, 0].mean())


@pytest.mark.parametrize(("source", "target", "name"), [(quadruped, "horse", "trot"), (biped, "t-rex", "walk")])
def test_a_gait_stays_a_gait_on_another_body(source, target, name):
    ours, theirs = body_of(source()), body_of(creature(target, detail="low"))
    motion, _ = make_motion(ours.rig, ours.limbs, name, frames=49, fps=24.0, period=1.0, body=ours)
    recording = Recording.of(name, ours, motion)
    made = retarget(recording, theirs, frames=24, fps=12.0)
    feet = track_feet(theirs.rig, theirs.limbs, made)
    cycle, stance = find_cycle(feet), find_stance(feet)
    speed = ground_speed(feet, stance)
    assert cycle.period == pytest.approx(12.0, rel=0.04)
    truth = find_cycle(track_feet(ours.rig, ours.limbs, motion))
    away = (cycle.phase - cycle.phase[0] - truth.phase + truth.phase[0] + 0.5) % 1 - 0.5
    assert np.abs(away).max() < 0.04
    # Speeds in leg lengths per second agree, and feet that stand do not slide.
    assert speed / theirs.leg == pytest.approx(recording.speed / ours.leg, rel=0.1)
    stands = stance[1:] & stance[:-1]
    assert np.linalg.norm(feet.velocity[..., [0, 2]], axis=-1)[stands].mean() < 0.1 * speed


def test_mirrored_twice_is_the_same():
    ours = body_of(quadruped())
    motion, _ = make_motion(ours.rig, ours.limbs, "gallop", frames=25, fps=24.0, period=1.0, body=ours)
    recording = Recording.of("gallop", ours, motion)
    plain = retarget(recording, ours, frames=24, fps=24.0)
    mirrored = retarget(recording, ours, frames=24, fps=24.0, mirror=True)
    again = retarget(Recording.of("gallop", ours, mirrored), ours, frames=23, fps=24.0, mirror=True)
    a, b = (find_cycle(track_feet(ours.rig, ours.limbs, m)).phase for m in (plain, mirrored))
    # Left and right have changed places: front left of one is front right of the other.
    np.testing.assert_allclose((a - b[[1, 0, 3, 2]] + 0.5) % 1, 0.5, atol=0.02)
    torch.testing.assert_close(again.root_position[:, 0], plain.root_position[:23, 0], atol=0.02, rtol=0)


def test_a_cycle_that_is_cut_closes():
    ours = body_of(biped())
    motion, _ = make_motion(
        ours.rig, ours.limbs, "run", frames=40, fps=20.0, period=0.8, rng=np.random.default_rng(0), body=ours
    )
    part = cut_cycle(motion, 16.0)
    torch.testing.assert_close(part.angles[0], part.angles[-1], atol=1e-12, rtol=0)
    assert float(part.root_position[-1, 2] - part.root_position[0, 2]) > 0.5


def test_clips_are_known_by_their_names():
    assert motion_name("Velociraptor_Run") == "run"
    assert motion_name("Idle_2") == "look"
    assert motion_name("Gallop_Jump") is None
    assert motion_name("Eating") == "eat"


@pytest.mark.slow
def test_recordings_of_the_shared_folder(shared_data):
    recordings = load_recordings(shared_data)
    assert {"walk", "gallop", "run", "stand", "jump", "eat", "kick", "wave"} <= {r.name for r in recordings}
    assert len(recordings) > 40
    rng = np.random.default_rng(0)
    bodies = {4: body_of(creature("dog", detail="low")), 2: body_of(creature("human", detail="low"))}
    for recording in recordings:
        target = bodies[len(recording.body.limbs.legs)]
        motion, label = recorded_motion(recording, target, frames=16, fps=8.0, rng=rng)
        assert torch.isfinite(motion.angles).all()
        assert label.name == recording.name
