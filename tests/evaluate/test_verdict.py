"""The verdict names what is wrong, by the worst of it."""

import pytest

from kinema.evaluate.metrics import Metrics, measure
from kinema.evaluate.verdict import BOUNDS, good_values, verdict
from kinema.motion.motion import Motion


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
    assert verdict(clean | {"gait": "stand", "motion": 0.0}, wanted="wave").reason == "it hardly moves"
    # Without a cycle the unit of jerk is another.
    assert verdict(clean | {"jerk": 1e9, "period": 0.0}, wanted="wave").colour == "green"


def test_a_motion_that_floats_is_red(fox, rig, walk):
    raised = Motion(walk.root_position + 0.05, walk.angles, walk.fps)
    found = verdict(measure(fox, raised, rig=rig).as_dict(), wanted="walk")
    assert found.colour == "red"
    assert "off the ground" in found.reason


def test_good_values_are_of_metrics():
    assert set(good_values()) <= set(Metrics.__dataclass_fields__)
    assert set(BOUNDS) <= set(good_values())
