import numpy as np
import pytest
import torch
from gait_bodies import BODIES

from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Mesh
from kinema.asset.clips_npz import load_clips_npz
from kinema.evaluate.metrics import bone_change, measure, shape_change
from kinema.gait.make import make_motion
from kinema.gait.motions import MOTIONS
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

MEANS = {"sneak": "walk", "limp": "walk", "turn_left": "walk", "turn_right": "walk"}


def made(kind: str, name: str, seed: int, frames: int = 16, **options):
    character = BODIES[kind]()
    rig, limbs = Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character)
    rng = np.random.default_rng(seed)
    period = float(rng.uniform(6.5, 11.5)) / 8 if name != "stand" else None
    motion, label = make_motion(
        rig, limbs, name, frames=frames, fps=8.0, phase=float(rng.random()), period=period, rng=rng, **options
    )
    return character, rig, limbs, motion, label


QUADRUPED = (
    "walk",
    "trot",
    "pace",
    "canter",
    "gallop",
    "run",
    "hop",
    "sneak",
    "limp",
    "turn_left",
    "turn_right",
    "stand",
)
OTHERS = ("walk", "run", "hop", "sneak", "turn_right", "stand")


@pytest.mark.parametrize(
    ("kind", "name"),
    [("quadruped", n) for n in QUADRUPED]
    + [("biped", n) for n in OTHERS]
    + [("hexapod", n) for n in ("walk", "stand")],
)
def test_procedural_gaits_are_recognised(kind, name):
    for seed in range(2):
        character, rig, limbs, motion, label = made(kind, name, seed)
        found = measure(character, motion, rig=rig, limbs=limbs, mesh=False)
        expected = "gallop" if name == "run" and kind == "quadruped" else MEANS.get(name, name)
        assert found.gait == expected
        if name == "stand":
            continue
        assert found.period == pytest.approx(label.period, rel=0.04)
        assert found.slide < 0.1
        assert found.penetration < 1e-6
        assert found.bone_change < 1e-9
        if not name.startswith(("turn", "limp")):
            assert found.speed == pytest.approx(label.speed, rel=0.12)
            truth = np.array(MOTIONS[name].gait.footfalls.touchdowns(limbs.legs))
            away = (np.array(found.phases) - truth + 0.5) % 1.0 - 0.5
            assert np.abs(away).max() < 0.07


def test_a_bound_is_a_gallop_and_a_hop_is_not():
    """Both have both feet of a pair at once; they differ in how far they go per cycle."""
    for step, gait in ((1.6, "hop"), (2.6, "gallop")):
        period = made("quadruped", "hop", 0)[-1].period
        character, rig, limbs, motion, _ = made("quadruped", "hop", 0, speed=step / period)
        assert measure(character, motion, rig=rig, limbs=limbs, mesh=False).gait == gait


def test_in_place_clips_are_judged_on_a_belt():
    character, rig, limbs, motion, label = made("quadruped", "trot", 0, frames=24)
    shift = torch.zeros_like(motion.root_position)
    shift[:, 2] = label.speed * limbs.leg_length * torch.arange(24) / 8
    still = Motion(motion.root_position - shift, motion.angles, motion.fps)
    moving, standing = (measure(character, m, rig=rig, limbs=limbs, mesh=False) for m in (motion, still))
    assert standing.gait == "trot"
    assert standing.travel < 0.15 < moving.travel
    assert standing.slide < 0.1
    assert standing.speed == pytest.approx(moving.speed, rel=1e-6)


def test_sliding_is_seen():
    character, rig, limbs, motion, label = made("quadruped", "walk", 1, frames=24)
    faster = motion.root_position.clone()
    faster[:, 2] += label.speed * limbs.leg_length * torch.arange(24) / 8
    # The body goes twice as fast as the feet tell: standing feet slide at half the body's speed.
    found = measure(character, Motion(faster, motion.angles, motion.fps), rig=rig, limbs=limbs, mesh=False)
    assert found.slide == pytest.approx(0.5, abs=0.1)


def test_penetration_and_floating_have_units_of_the_body():
    character, rig, limbs, motion, _ = made("biped", "stand", 0)
    lift = torch.tensor([0.0, 0.1, 0.0])
    low = measure(character, Motion(motion.root_position - lift, motion.angles, 8.0), rig=rig, limbs=limbs)
    high = measure(character, Motion(motion.root_position + lift, motion.angles, 8.0), rig=rig, limbs=limbs)
    assert low.penetration == pytest.approx(0.1 / limbs.height, rel=0.05)
    assert high.floating == pytest.approx(0.1 / limbs.leg_length, rel=0.05)
    assert high.penetration == 0


def test_shape_changes_are_relative_lengths():
    joints = np.zeros((2, 2, 3))
    joints[0, 1, 1], joints[1, 1, 1] = 1.0, 1.25
    assert bone_change(joints, (-1, 0)) == pytest.approx(0.25)
    triangle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    change = shape_change(np.stack((triangle, 1.1 * triangle)), np.array([[0, 1, 2]]))
    np.testing.assert_allclose(change, [0, 0.1], atol=1e-12)


ARTISTS = {
    "fox": {"Walk": "walk", "Gallop": "gallop", "Idle": "stand"},
    "deer": {"Walk": "walk", "Gallop": "gallop", "Idle": "stand"},
    "husky": {"Walk": "walk", "Gallop": "gallop", "Idle_2": "stand"},
    "khronos_fox": {"Walk": "walk", "Run": "gallop"},
    "rat": {"Rat_Walk": "walk", "Rat_Run": "gallop", "Rat_Idle": "stand"},
    # The artist's walk of this one moves diagonal legs together.
    "stegosaurus": {"Stegosaurus_Walk": "trot", "Stegosaurus_Run": "gallop", "Stegosaurus_Idle": "stand"},
    "velociraptor": {"Velociraptor_Run": "run", "Velociraptor_Idle": "stand", "Velociraptor_Jump": "hop"},
    # The artist's walk of this one bounces, and both feet are in the air for most of it.
    "character": {"Walk": "run", "Run": "run", "Idle": "stand"},
    "frog": {"Frog_Jump": "hop", "Frog_Idle": "stand"},
}


@pytest.mark.parametrize("name", list(ARTISTS))
def test_artists_clips_get_the_right_class(shared_data, name):
    character = load_clips_npz(shared_data / "clips" / f"{name}.npz")
    rig, limbs = Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character)
    clips = {clip.name: clip for clip in character.clips}
    found = {
        clip: measure(character, Motion.from_clip(rig, clips[clip]), rig=rig, limbs=limbs, mesh=False).gait
        for clip in ARTISTS[name]
    }
    assert found == ARTISTS[name]


@pytest.mark.parametrize(
    ("clip", "gait"), [("08_10", "walk"), ("02_02", "walk"), ("07_12", "walk"), ("09_03", "run"), ("16_45", "run")]
)
def test_motion_capture_gets_the_right_class(shared_data, clip, gait):
    skeleton, motion = read_bvh(shared_data / "motion" / "cmu" / f"{clip}.bvh", scale=0.0564)
    empty = np.zeros((0, 3))
    person = Character(clip, Mesh(empty, np.zeros((0, 3), dtype=np.int64), empty), skeleton)
    rig = Rig.from_skeleton(skeleton, dtype=torch.float64)
    # The first frames are a T-pose.
    found = measure(person, Motion.from_clip(rig, motion)[8:].resample(24.0), rig=rig, mesh=False)
    assert found.gait == gait
    assert found.slide < 0.2
    assert 0.5 < found.period < 1.3
