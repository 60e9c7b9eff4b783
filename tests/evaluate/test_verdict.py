"""The verdict names what is wrong, by the worst of it."""

import numpy as np
import pytest
import torch

from kinema.evaluate.amount import amount_done, joint_swings
from kinema.evaluate.metrics import Metrics, measure
from kinema.evaluate.verdict import BOUNDS, SLOW, good_values, verdict
from kinema.gait.kinds import Style
from kinema.gait.make import action_times, make_motion
from kinema.gait.motions import MOTIONS
from kinema.gait.plan import GaitBody
from kinema.geometry.rotations import is_below
from kinema.motion.motion import Motion
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def clean(fox, rig, walk) -> dict:
    found = measure(fox, walk, rig=rig).as_dict()
    return found | {name: bound.good / 2 for name, bound in BOUNDS.items()}


def test_a_clean_walk_is_green(clean):
    assert verdict(clean, wanted="walk").colour == "green"
    assert str(verdict(clean)).startswith("green: ")


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_counts_and_is_told_with_its_value(clean, name):
    bound = BOUNDS[name]
    for value, colour in ((bound.good, "green"), (1.01 * bound.good, "amber"), (1.01 * bound.fair, "red")):
        found = verdict(clean | {name: value}, wanted="walk")
        assert found.colour == colour
        assert (f"{bound.unit * value:.3g}" in found.reason) == (colour != "green")
    # The worst decides, all are told.
    both = verdict(clean | {name: 2 * bound.fair, "gait": "canter"}, wanted="walk")
    assert both.colour == "red"
    assert "looks like 'canter'" in both.reason


def test_the_gait_counts_only_where_one_was_asked_for(clean):
    assert verdict(clean, wanted="run").colour == "amber"
    assert verdict(clean, wanted="stand").colour == "red"
    assert verdict(clean | {"gait": "gallop"}, wanted="run").colour == "green"
    assert verdict(clean | {"gait": "other"}, wanted="wave").colour == "green"
    still = verdict(clean | {"gait": "stand", "swing": 5.0}, wanted="wave")
    assert (still.colour, still.reason) == ("red", "it hardly moves: no joint turns by more than 5°")
    assert verdict(clean | {"gait": "stand", "swing": 5.0}, wanted="sleep").colour == "green"
    # Without a cycle the unit of jerk is another.
    assert verdict(clean | {"jerk": 1e9, "period": 0.0}, wanted="wave").colour == "green"


@pytest.mark.parametrize("name", ["wag", "look", "sit"])
def test_an_action_that_is_not_done_is_not_green(fox, rig, clean, name):
    limbs = find_limbs(fox)
    stand, _ = make_motion(rig, limbs, "stand", frames=48, fps=24.0)
    seconds = action_times(GaitBody.of(rig, limbs), MOTIONS[name].action, Style())[1]
    done, _ = make_motion(rig, limbs, name, frames=48, fps=36 / seconds, phase=-0.1, style=Style(side=-1))
    # Seen from rest, the angles of a weak action are a part of those of a strong one.
    weak = Motion(done.root_position, stand.angles + 0.35 * (done.angles - stand.angles), done.fps)
    for motion, colour in ((done, "green"), (weak, "amber"), (stand, "red")):
        amount = amount_done(rig, limbs, motion, name)
        found = verdict(clean | {"gait": "stand"}, wanted=name, amount=amount)
        assert found.colour == colour, (amount, found)
    assert amount_done(rig, limbs, done, "walk") is None
    assert amount_done(rig, limbs, done, "dance") is None  # no motion of ours


def test_who_is_to_fall_must_end_on_the_ground(fox, rig, clean):
    lying, _ = make_motion(rig, find_limbs(fox), "lie", frames=48, fps=24.0, phase=0.0, period=1.5)
    sunk = [measure(fox, lying[:count], rig=rig).sunk for count in (48, 21, 4)]
    assert 1 > sunk[0] > sunk[1] > sunk[2] >= 0
    for share, colour in zip(sunk, ("green", "amber", "red")):
        assert verdict(clean | {"gait": "other", "sunk": share}, wanted="lie").colour == colour, sunk
    assert verdict(clean | {"gait": "other", "sunk": 0.0}, wanted="wave").colour == "green"


def test_swings_are_the_angles_that_joints_turn_by(rig):
    angles = torch.zeros(9, len(rig.parents), 3)
    angles[:, 5, 0] = torch.linspace(-0.4, 0.8, 9)
    found = joint_swings(Motion(torch.zeros(9, 3), angles, 24.0).pose(rig).double().numpy()[..., :3])
    assert found[5] == pytest.approx(np.rad2deg(1.2), abs=1e-3)
    turned = [j for j in range(len(rig.parents)) if is_below(rig.parents, j, 5)]
    assert set(np.flatnonzero(found > 0.1)) == set(turned)


def test_a_motion_that_floats_is_red(fox, rig, walk):
    raised = Motion(walk.root_position + 0.05, walk.angles, walk.fps)
    found = verdict(measure(fox, raised, rig=rig).as_dict(), wanted="walk")
    assert found.colour == "red"
    assert "off the ground" in found.reason


def test_good_values_are_of_metrics():
    assert set(good_values()) <= set(Metrics.__dataclass_fields__)
    assert set(BOUNDS) <= set(good_values())


def test_who_acts_in_place_slides_relative_to_a_slow_walk(clean):
    """A cheering figure that swayed by a few millimetres slid at 150 % of its speed, which was next to nothing."""
    bad = clean | {"slide": BOUNDS["slide"].fair * 2}
    assert verdict(bad).colour == "red"
    found = verdict(bad | {"speed": SLOW / 4})
    assert found.colour == "amber"
    assert "a slow walk's speed" in found.reason
