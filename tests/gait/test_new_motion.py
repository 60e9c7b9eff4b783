"""A gait and an action that the package does not know: one row each, passed to the functions."""

import numpy as np
import pytest
import torch
from gait_bodies import BODIES

from kinema.gait.captions import caption
from kinema.gait.kinds import Footfalls, Gait, MotionKind, Style, verbs
from kinema.gait.make import make_motion
from kinema.gait.motions import MOTIONS
from kinema.gait.plan import FootPlan, GaitBody, bend
from kinema.gait.recorded import recorded_motion
from kinema.gait.recording import Recording
from kinema.motion.feet import find_cycle, track_feet
from kinema.prior.nano.actor import draw_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

SKIP = MotionKind(
    "skip",
    {"biped": 7, "kraken": 1},
    verbs("skip[ping|s], skip[ping|s] down the lane"),
    Gait(Footfalls((0.0, 0.3, 0.6, 0.9), lag=0.3), duty=0.4, froude=0.5, pendulum=2.5, lift=0.2, bob=-0.05),
)


def bow(body: GaitBody, plan: FootPlan, since: np.ndarray, style: Style) -> None:
    bend(plan, body.limbs.spine, pitch=np.exp(-4 * since**2))


BOW = MotionKind("bow", {"biped": 1}, verbs("bow[ing|s]"), action=bow)


def prepared(kind: str) -> GaitBody:
    character = BODIES[kind]()
    return GaitBody.of(Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character))


@pytest.mark.parametrize(("kind", "truth"), [("biped", [0.0, 0.3]), ("quadruped", [0.0, 0.3, 0.6, 0.9])])
def test_the_feet_of_a_new_gait_follow_its_row(kind, truth):
    body = prepared(kind)
    motion, label = make_motion(body.rig, body.limbs, SKIP, frames=60, fps=24.0, period=1.0, body=body)
    cycle = find_cycle(track_feet(body.rig, body.limbs, motion))
    assert (label.name, label.period) == ("skip", 1.0)
    assert cycle.period == pytest.approx(24.0, rel=0.03)
    away = (cycle.phase - cycle.phase[0] - truth + 0.5) % 1 - 0.5
    assert np.abs(away).max() < 0.04


def test_a_new_action_is_told_its_progress():
    body = prepared("biped")
    motion, label = make_motion(body.rig, body.limbs, BOW, frames=49, fps=24.0, phase=0.0, period=2.0, body=body)
    bent = motion.angles[:, list(body.limbs.spine)].norm(dim=-1).sum(-1)
    # The bow is symmetric in time: deepest halfway.
    assert int(bent.argmax()) == pytest.approx(24, abs=1)
    assert (label.name, label.repeats, label.phase, label.period) == ("bow", False, 0.0, 2.0)


def test_captions_of_a_new_gait_are_its_own():
    body = prepared("biped")
    _, label = make_motion(body.rig, body.limbs, SKIP, frames=8, fps=8.0, body=body)
    rng = np.random.default_rng(0)
    assert all("skip" in caption(label, rng, {SKIP.name: SKIP}).lower() for _ in range(50))


def test_training_draws_a_new_gait_as_often_as_its_share():
    motions, rng = {**MOTIONS, SKIP.name: SKIP}, np.random.default_rng(0)
    names = [draw_motion("biped", rng, motions).name for _ in range(4000)]
    others = sum(kind.shares.get("biped", 0) for kind in MOTIONS.values())
    # A share of 7 in others + 7, ± 4 standard deviations of the binomial distribution.
    p = 7 / (others + 7)
    assert names.count("skip") / 4000 == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 4000))
    assert "trot" not in names
    assert all(draw_motion("quadruped", rng, motions) is not SKIP for _ in range(300))
    # A kind of body that only the new row is for.
    assert all(draw_motion("kraken", rng, motions) is SKIP for _ in range(10))


def test_a_recording_of_a_new_gait_is_labelled_with_it():
    body = prepared("biped")
    motion, _ = make_motion(body.rig, body.limbs, SKIP, frames=49, fps=24.0, period=1.0, body=body)
    recording = Recording.of(SKIP, body, motion)
    _, label = recorded_motion(recording, body, frames=16, fps=8.0, rng=np.random.default_rng(0), cycle_frames=8.0)
    assert (label.name, label.period) == ("skip", 1.0)
