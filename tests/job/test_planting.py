"""What the job does to a distilled motion: feet that stand are planted, skin comes out of the ground."""

from dataclasses import replace

import pytest
import torch

from kinema.distill.config import Animate
from kinema.distill.loop import Distiller
from kinema.distill.tempo import choose_tempo
from kinema.evaluate.metrics import measure
from kinema.job.animate import Body, lift_skin, make_body, plant_feet, settle
from kinema.motion.motion import Motion
from kinema.prior.nano.prior import NanoPrior

FOX = Animate("fox", "a fox is walking", splats=1500, physics=False)


@pytest.fixture(scope="module")
def body(fox) -> Body:
    return make_body(FOX, fox, NanoPrior)[0]


def test_standing_feet_are_planted_unless_somebody_says_otherwise(fox, body, walk):
    faster = walk.root_position.clone()
    faster[:, 2] += 0.4 * (walk.root_position[:, 2] - walk.root_position[0, 2])
    skating = Motion(faster, walk.angles, walk.fps)
    planted = plant_feet(FOX, fox, body, skating)
    before, after = (measure(fox, m, rig=body.stage.rig, limbs=body.limbs) for m in (skating, planted))
    assert before.slide > 0.2
    assert after.slide < before.slide / 2
    assert after.gait == before.gait == "walk"
    for spared in (replace(FOX, plant_feet=False), replace(FOX, preset="paper")):
        assert plant_feet(spared, fox, body, skating) is skating


def test_a_tracked_motion_is_planted_again_only_where_it_helps(fox, body, walk):
    carried = walk.root_position.clone()
    carried[:, 2] += torch.linspace(0.0, 0.15, len(walk))
    drifting = Motion(carried, walk.angles, walk.fps)
    settled = settle(FOX, fox, body, drifting)
    before, after = (measure(fox, m, rig=body.stage.rig, limbs=body.limbs) for m in (drifting, settled))
    assert after.slide < 0.7 * before.slide
    assert after.gait == before.gait == "walk"
    # What stands already is left alone.
    assert torch.equal(settle(FOX, fox, body, settled).angles, settled.angles)
    assert torch.equal(settle(replace(FOX, plant_feet=False), fox, body, drifting).angles, drifting.angles)


def test_a_loop_is_planted_and_stays_a_loop(fox, body):
    tempo = choose_tempo("walk", "", body.limbs, NanoPrior)
    distiller = Distiller(replace(FOX, loop=True, frames=40), NanoPrior.load(), body.stage, body.anatomy, tempo)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        shape = distiller.parameters.angles.shape
        distiller.parameters.angles.copy_(0.3 * torch.randn(shape, generator=generator))
    loop = distiller.motion()
    assert loop.closes
    planted = plant_feet(replace(FOX, loop=True), fox, body, loop)
    assert len(planted) == len(loop)
    assert planted.closes
    assert not torch.equal(planted.angles, loop.angles)
    # Without the rounds before and after, its ends would not meet.
    assert not plant_feet(FOX, fox, body, loop).closes


def test_skin_under_the_ground_is_lifted_and_nothing_else_moves(fox, rig, walk):
    sunk = Motion(walk.root_position - torch.tensor([0.0, 0.02, 0.0]), walk.angles, walk.fps)
    lifted = lift_skin(fox, rig, sunk)
    assert measure(fox, sunk, rig=rig).penetration > 0.005
    assert measure(fox, lifted, rig=rig).penetration_worst < 1e-4
    assert (lifted.angles == sunk.angles).all()
    assert (lifted.root_position[:, (0, 2)] == sunk.root_position[:, (0, 2)]).all()
    raised = Motion(walk.root_position + torch.tensor([0.0, 0.1, 0.0]), walk.angles, walk.fps)
    assert lift_skin(fox, rig, raised) is raised
