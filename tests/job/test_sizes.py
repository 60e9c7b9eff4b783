"""A body of any size moves like one of the usual size: toys, giants, and files that count in other units."""

from dataclasses import replace

import pytest
import torch

from kinema.create.creatures import creature
from kinema.distill.config import Animate
from kinema.distill.tempo import Tempo, default_frame_rate
from kinema.evaluate.metrics import measure
from kinema.job.animate import animate
from kinema.motion.similar import USUAL_LEG, grown, grown_motion, growth
from kinema.prior.nano.prior import NanoPrior
from kinema.rig.limbs import find_limbs

QUICK = {"views": 1, "fit_iterations": 4, "iterations": 2, "physics_iterations": 4, "splats": 300}


def test_a_cycle_has_frames_enough():
    walk = Tempo("walk", True, 13.0, 19.5, 0.0, 0.5)
    assert default_frame_rate(walk) == 24
    assert default_frame_rate(replace(walk, fps=13 / 0.2)) == 60
    assert default_frame_rate(replace(walk, fps=13 / 0.1)) == 120
    assert default_frame_rate(replace(walk, repeats=False, fps=13 / 0.1)) == 24


@pytest.mark.parametrize("size", [0.02, 50.0])
def test_measures_do_not_depend_on_the_size(fox, rig, walk, size):
    skating = replace(walk, root_position=walk.root_position * torch.tensor([1.0, 1.0, 1.3]))
    usual = measure(fox, skating, rig=rig)
    other = measure(grown(fox, size), grown_motion(skating, size)).at_pace(size**0.5)
    assert usual.slide > 0.1
    assert (other.gait, other.duty) == (usual.gait, pytest.approx(usual.duty))
    for name in ("slide", "period", "speed", "penetration", "hover", "jerk", "motion"):
        assert getattr(other, name) == pytest.approx(getattr(usual, name), rel=2e-3), name


def test_a_mouse_is_animated_as_large_as_a_dog_and_stays_a_mouse(tmp_path):
    mouse, prior = creature("mouse", detail="low"), NanoPrior.load()
    size = growth(find_limbs(mouse).leg_length)
    assert size > 10
    assert find_limbs(grown(mouse, size)).leg_length == pytest.approx(USUAL_LEG)
    job = Animate("a mouse", "a mouse is running", **QUICK)
    found, large = animate(job, mouse, prior), animate(job, grown(mouse, size), prior)
    assert found.character is mouse
    assert found.motion.fps == 120
    assert found.tracked is not None
    assert large.tracked is not None
    # The same steps of a body that is so much smaller, at the pace of its legs.
    assert found.tempo.period / found.tempo.fps == pytest.approx(large.tempo.period / large.tempo.fps / size**0.5)
    # As distilled: feet of a motion of six steps are planted in one way or another.
    height, usual = (float(done.distilled.root_position[:, 1].mean()) for done in (found, large))
    assert height * size == pytest.approx(usual, rel=0.1)
    speed, usual = (
        float(done.distilled.root_position.diff(dim=0)[:, 2].mean()) * done.distilled.fps for done in (found, large)
    )
    assert speed * size**0.5 == pytest.approx(usual, rel=0.3)
