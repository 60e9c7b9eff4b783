from dataclasses import replace

import numpy as np
import pytest
import torch
from gait_bodies import biped, quadruped

from kinema.asset.character import Skeleton
from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.gait.plan import GaitBody
from kinema.gait.recorded import recorded_motion
from kinema.gait.recording import Recording
from kinema.gait.retarget import nail, retarget
from kinema.gait.takes import HELD_OUT, load_character, read_takes, record
from kinema.gait.vocabulary import vocabulary
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


def test_the_phase_of_a_recording_is_that_of_its_feet():
    """A window cut anywhere is labelled with the phase that the gait was made with."""
    ours, rng = body_of(quadruped()), np.random.default_rng(0)
    motion, _ = make_motion(ours.rig, ours.limbs, "trot", frames=49, fps=24.0, period=1.0, phase=0.3, body=ours)
    recording = Recording.of("trot", ours, motion)
    assert recording.period == pytest.approx(1.0, rel=0.03)
    assert recording.phase(0.0) == pytest.approx(0.3, abs=0.04)
    # In the mirror the right feet of a trot are where the left ones were: half a cycle apart.
    assert (recording.phase(0.0, mirror=True) - 0.8 + 0.5) % 1 == pytest.approx(0.5, abs=0.05)
    for _ in range(5):
        made, label = recorded_motion(recording, ours, frames=24, fps=12.0, rng=rng, cycle_frames=12.0)
        feet = track_feet(ours.rig, ours.limbs, made)
        at = (find_cycle(feet).phase[0] - 0.5 * (0.46 - 0.5)) % 1.0
        assert (label.phase + at + 0.5) % 1 == pytest.approx(0.5, abs=0.06)


def test_an_action_is_cut_anywhere_and_says_where():
    ours, rng = body_of(biped()), np.random.default_rng(0)
    motion, _ = make_motion(ours.rig, ours.limbs, "jump", frames=73, fps=24.0, period=2.0, phase=-0.25, body=ours)
    recording = Recording.of("jump", ours, motion)
    assert (recording.begin, recording.period) == (pytest.approx(0.5, abs=0.15), pytest.approx(2.0, abs=0.3))
    apex = float(motion.root_position[:, 1].argmax()) / motion.fps
    for _ in range(8):
        made, label = recorded_motion(recording, frames=48, fps=24.0, rng=rng)
        shown = float(made.root_position[:, 1].argmax()) / 24.0
        when = (recording.phase(apex) - label.phase) * label.period
        if 0 < when < 47 / 24:
            assert shown == pytest.approx(when, abs=0.06)


def test_the_trunk_turns_about_the_hips_whatever_lies_below_them():
    """A file whose root is a joint at the feet, below the hips, gives the same motion as one without."""
    plain, ours = biped(), body_of(biped())
    skeleton = plain.skeleton
    heads = np.concatenate((np.zeros((1, 3)), skeleton.heads))
    tails = np.concatenate((skeleton.heads[:1], skeleton.tails))
    parents = (-1, *(parent + 1 for parent in skeleton.parents))
    weights = np.concatenate((np.zeros((len(plain.weights), 1)), plain.weights), 1)
    names = ("root", *skeleton.names)
    rooted = body_of(replace(plain, skeleton=Skeleton(names, parents, heads, tails), weights=weights))
    motion, _ = make_motion(ours.rig, ours.limbs, "sit", frames=49, fps=24.0, period=1.5, body=ours)
    first, second = (retarget(Recording.of("sit", ours, motion), body, frames=16, fps=8.0) for body in (ours, rooted))
    places = [made.pose(body.rig)[..., 3] for made, body in ((first, ours), (second, rooted))]
    torch.testing.assert_close(places[0], places[1][:, 1:], atol=1e-3, rtol=0)


@pytest.mark.slow
def test_takes_of_the_shared_folder(shared_data):
    takes = read_takes(shared_data)
    assert not {take.file.stem for take in takes} & set(HELD_OUT)
    assert {take.name for take in takes if take.clip} <= set(vocabulary())
    named = {kind: {take.name for take in takes if take.kind == kind} for kind in ("upright", "quadruped", "fish")}
    assert [len(names) > least for names, least in zip(named.values(), (60, 18, 8))] == [True] * 3
    rng = np.random.default_rng(0)
    target = body_of(creature("human", detail="low"))
    for take in [take for take in takes if take.captured][::12]:
        character = load_character(take.file)
        recording = record(take, {clip.name: clip for clip in character.clips}, body_of(character), heading=None)
        if recording is not None:
            motion, label = recorded_motion(recording, target, frames=16, fps=8.0, rng=rng)
            assert torch.isfinite(motion.angles).all()
            assert label.name == take.name
