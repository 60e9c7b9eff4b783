import numpy as np
import pytest
import torch
from gait_bodies import BODIES

from kinema.errors import KinemaError
from kinema.gait.clip_names import STATES
from kinema.gait.cycle import cycle_plan
from kinema.gait.kinds import Gait, Style
from kinema.gait.make import action_span, make_motion
from kinema.gait.motions import MOTIONS
from kinema.gait.plan import GaitBody
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def prepared(kind: str):
    character = BODIES[kind]()
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    return character, rig, find_limbs(character)


def contact_points(rig, limbs, motion) -> np.ndarray:
    pose = motion.pose(rig).numpy()
    return np.stack([pose[:, g.joints[-1], :, :3] @ g.contact + pose[:, g.joints[-1], :, 3] for g in limbs.legs])


@pytest.mark.parametrize("kind", list(BODIES))
@pytest.mark.parametrize("name", [name for name, kind in MOTIONS.items() if isinstance(kind.gait, Gait)])
def test_stance_feet_stand_still_and_the_body_moves_at_its_speed(kind, name):
    _, rig, limbs = prepared(kind)
    body, gait = GaitBody.of(rig, limbs), MOTIONS[name].gait
    period, speed = gait.period(body.leg), body.stride * gait.speed(body.leg)
    rng = np.random.default_rng(3)
    style, phase, fps = Style.random(rng), 0.37, 30 / period
    motion, label = make_motion(rig, limbs, name, frames=45, fps=fps, phase=phase, style=style)
    plan = cycle_plan(body, gait, frames=45, fps=fps, phase=phase, period=period, speed=speed, style=style)
    points = contact_points(rig, limbs, motion)
    both = plan.stance[:, 1:] & plan.stance[:, :-1]
    # Within one stance the contact point does not move; between stances a swing lies, so neighbours share a foothold.
    assert np.abs(np.diff(points, axis=1))[both].max() < 1e-9 * limbs.leg_length
    assert np.abs(points[..., 1][plan.stance]).max() < 1e-9
    assert points[..., 1].min() > -1e-9
    assert (label.name, label.period) == (name, period)
    assert label.speed == pytest.approx(speed)
    if not gait.turn:
        cycle = motion.root_position[30] - motion.root_position[0]
        # One period of travel: v T L.
        way = speed * period * limbs.leg_length * np.array([np.sin(label.direction), 0, np.cos(label.direction)])
        np.testing.assert_allclose(cycle.numpy(), way, atol=1e-9)


@pytest.mark.parametrize("kind", list(BODIES))
def test_a_cycle_closes(kind):
    _, rig, limbs = prepared(kind)
    period = MOTIONS["walk"].gait.period(limbs.leg_length)
    motion, _ = make_motion(rig, limbs, "walk", frames=25, fps=24 / period, rng=np.random.default_rng(0))
    torch.testing.assert_close(motion.angles[0], motion.angles[-1], atol=1e-9, rtol=0)


def test_the_reference_leg_touches_down_at_phase_zero():
    _, rig, limbs = prepared("quadruped")
    motion, _ = make_motion(rig, limbs, "trot", frames=40, fps=40.0, phase=0.0, period=1.0)
    height = contact_points(rig, limbs, motion)[..., 1]
    # Trot: front left and hind right down at 0, the others half a cycle later.
    assert (height[[0, 3], 1] < 1e-9).all()
    assert (height[[0, 3], -3] > 1e-5).all()
    assert (height[[1, 2], 20] < 1e-9).all()
    assert (height[[1, 2], 17] > 1e-5).all()


def test_standing_keeps_all_feet():
    for kind in BODIES:
        _, rig, limbs = prepared(kind)
        motion, _ = make_motion(rig, limbs, "stand", frames=24, fps=12.0, rng=np.random.default_rng(1))
        points = contact_points(rig, limbs, motion)
        assert np.ptp(points, axis=1).max() < 1e-9


@pytest.mark.parametrize("kind", list(BODIES))
@pytest.mark.parametrize("name", [name for name, kind in MOTIONS.items() if not kind.repeats])
def test_actions_move_without_sinking_in(kind, name):
    _, rig, limbs = prepared(kind)
    if limbs.body not in MOTIONS[name].shares:
        pytest.skip(f"no {kind} does it")
    for seed in range(3):
        size = {"frames": 36, "fps": 12.0, "phase": -0.2}
        motion, label = make_motion(rig, limbs, name, rng=np.random.default_rng(seed), period=2.0, **size)
        points = contact_points(rig, limbs, motion)
        assert points[..., 1].min() > -1e-9
        assert torch.isfinite(motion.angles).all()
        state = name in STATES
        assert (label.repeats, label.phase, label.period) == (False, 0.0 if state else -0.2, 0.0 if state else 2.0)
        standing, _ = make_motion(rig, limbs, "stand", rng=np.random.default_rng(seed), **size)
        assert ((motion.angles - standing.angles).abs().max() > 0.2) == (not MOTIONS[name].still)


@pytest.mark.parametrize("kind", ["biped", "quadruped"])
@pytest.mark.parametrize("name", ["jump", "look", "eat", "kick"])
def test_an_action_happens_between_progress_zero_and_one(kind, name):
    """Before it begins and after it has ended the body stands as one that does nothing."""
    _, rig, limbs = prepared(kind)
    size = {"frames": 61, "fps": 20.0, "phase": -0.25, "style": Style()}
    moved, _ = make_motion(rig, limbs, name, period=2.0, **size)
    stood, _ = make_motion(rig, limbs, "stand", **{**size, "phase": 0.0})
    away = (moved.pose(rig)[..., 3] - stood.pose(rig)[..., 3]).norm(dim=-1).mean(-1).numpy()
    progress = -0.25 + np.arange(61) / 40
    during = away[(progress > 0) & (progress < 1)]
    assert away[progress < 0].max() < 0.15 * during.max()
    # A jump lands a little ahead and its weight is still settling.
    assert np.abs(np.diff(away[progress > 1.02])).max() < 0.02 * during.max()
    assert away[(progress > -0.01) & (progress < 0.15)].max() > 0.02 * during.max()


def test_the_span_of_an_action():
    place = np.zeros((40, 3, 3))
    place[10:20, :, 1] = np.linspace(0.1, 1, 10)[:, None]
    place[20:, :, 1] = 1.0
    # It leaves the first pose after frame 9 and has come to the last one at frame 19.
    assert action_span(place) == (9, 19)
    assert action_span(np.zeros((12, 3, 3))) == (0, 11)


def test_an_unknown_motion_is_named_with_the_known_ones():
    _, rig, limbs = prepared("biped")
    with pytest.raises(KinemaError, match=r"motion 'teleport': not one of walk, trot"):
        make_motion(rig, limbs, "teleport", frames=4, fps=4.0)
