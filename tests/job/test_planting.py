"""What the job does to a distilled motion: feet that stand are planted, skin comes out of the ground."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.distill.config import Resolved
from kinema.distill.loop import Distiller
from kinema.distill.tempo import choose_tempo
from kinema.evaluate.metrics import measure
from kinema.export.write import write
from kinema.job.animate import make_stage
from kinema.job.feet import as_simulated, lift_skin, loses_gait, plant_feet, settle, settles
from kinema.motion.loop import closes, unroll
from kinema.motion.motion import Motion
from kinema.prior.nano.prior import NanoPrior
from kinema.rig.anatomy import Anatomy

ROOT = Path(__file__).parents[2]
FOX = Resolved("fox", "a fox is walking", splats=1500, physics=False)


def load_module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def anatomy(fox) -> Anatomy:
    return Anatomy.of(fox)


def test_standing_feet_are_planted_unless_somebody_says_otherwise(fox, anatomy, walk):
    faster = walk.root_position.clone()
    faster[:, 2] += 0.4 * (walk.root_position[:, 2] - walk.root_position[0, 2])
    skating = Motion(faster, walk.angles, walk.fps)
    planted, _ = plant_feet(FOX, fox, anatomy, skating)
    before, after = (measure(fox, m, rig=anatomy.rig, limbs=anatomy.limbs) for m in (skating, planted))
    assert before.slide > 0.2
    assert after.slide < before.slide / 2
    assert after.gait == before.gait == "walk"
    for spared in (replace(FOX, plant_feet=False), replace(FOX, preset="paper")):
        assert plant_feet(spared, fox, anatomy, skating)[0] is skating


def test_a_tracked_motion_is_planted_again_only_where_it_helps(fox, anatomy, walk):
    carried = walk.root_position.clone()
    carried[:, 2] += torch.linspace(0.0, 0.15, len(walk))
    drifting = Motion(carried, walk.angles, walk.fps)
    settled = settle(FOX, fox, anatomy, drifting, None, drifting)
    before, after = (measure(fox, m, rig=anatomy.rig, limbs=anatomy.limbs) for m in (drifting, settled))
    assert after.slide < 0.7 * before.slide
    assert after.gait == before.gait == "walk"
    # The report tells of what was simulated, too; the paper's result is that.
    assert as_simulated(FOX, drifting, drifting) is drifting
    assert settles(FOX)
    paper = replace(FOX, preset="paper")
    assert settle(paper, fox, anatomy, drifting, None, drifting) is drifting
    assert not settles(paper)
    assert settles(replace(paper, settle=True))
    # What stands already is left alone, but for what float32 has rounded.
    again = settle(FOX, fox, anatomy, settled, None, settled)
    torch.testing.assert_close(again.angles, settled.angles, atol=2e-3, rtol=0)
    assert torch.equal(
        settle(replace(FOX, plant_feet=False), fox, anatomy, drifting, None, drifting).angles, drifting.angles
    )


def test_the_skin_of_every_stance_foot_is_on_the_ground(fox, anatomy, walk, tmp_path):
    hover = load_module("hover", ROOT / "benchmarks" / "hover.py")  # knows nothing of Kinema
    up = torch.tensor([0.0, 0.02, 0.0])
    raised = Motion(walk.root_position + up, walk.angles, walk.fps)
    for motion, name in ((raised, "raised"), (settle(FOX, fox, anatomy, raised, None, raised), "settled"),
                         (plant_feet(FOX, fox, anatomy, raised)[0], "planted")):  # fmt: skip
        write(tmp_path / f"{name}.glb", fox, motion)
    found = {path.stem: hover.measure(path) for path in tmp_path.glob("*.glb")}
    assert {each.feet for each in found.values()} == {4}
    # Raised by 2 cm on legs of 0.33 m.
    assert found["raised"].worst_foot > 0.05
    for name in ("settled", "planted"):
        assert found[name].stands > 0.4 * 4 * len(walk)
        assert found[name].worst_frame < hover.BAR


def test_a_tail_in_the_ground_raises_nothing(anatomy, fox, walk):
    angles = walk.angles.clone()
    angles[:, anatomy.limbs.tail[0], 0] -= 1.2
    dragging = Motion(walk.root_position - torch.tensor([0.0, 0.05, 0.0]), angles, walk.fps)
    whole = replace(anatomy, limbs=replace(anatomy.limbs, tails=()))
    spared, raised = (lift_skin(fox, each, dragging).root_position[:, 1] for each in (anatomy, whole))
    assert float((raised - spared).min()) > 0.04
    assert float((spared - dragging.root_position[:, 1]).min()) == pytest.approx(0.05, abs=0.01)


def test_a_loop_is_planted_and_stays_a_loop(fox, anatomy):
    prior = NanoPrior.load()
    tempo = choose_tempo("walk", "", anatomy.limbs, prior)
    stage = make_stage(FOX, fox, anatomy, prior)
    distiller = Distiller(replace(FOX, loop=True, frames=40), prior, stage, anatomy, tempo)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        shape = distiller.parameters.angles.shape
        distiller.parameters.angles.copy_(0.3 * torch.randn(shape, generator=generator))
    loop = distiller.motion()
    assert closes(loop)
    planted, stance = plant_feet(replace(FOX, loop=True), fox, anatomy, loop)
    assert len(planted) == len(loop)
    assert closes(planted)
    assert stance is not None
    assert stance.shape == (len(loop), len(anatomy.limbs.legs))
    np.testing.assert_array_equal(stance[0], stance[-1])
    assert not torch.equal(planted.angles, loop.angles)
    # The seam can be anywhere: begun half a round later, the same loop is planted as the same.
    half = len(loop) // 2
    later = replace(loop, root_position=unroll(loop, half).root_position, angles=unroll(loop, half).angles)
    other, _ = plant_feet(replace(FOX, loop=True), fox, anatomy, later[: len(loop)])
    torch.testing.assert_close(other.angles[half : 2 * half], planted.angles[:half], atol=0.06, rtol=0)
    # Without the rounds before and after, its ends would not meet.
    assert not closes(plant_feet(replace(FOX, loop=False), fox, anatomy, loop)[0])


def test_skin_under_the_ground_is_lifted_and_nothing_else_moves(fox, anatomy, rig, walk):
    sunk = Motion(walk.root_position - torch.tensor([0.0, 0.02, 0.0]), walk.angles, walk.fps)
    lifted = lift_skin(fox, anatomy, sunk)
    assert measure(fox, sunk, rig=rig).penetration > 0.005
    assert measure(fox, lifted, rig=rig).penetration_worst < 1e-4
    assert (lifted.angles == sunk.angles).all()
    assert (lifted.root_position[:, (0, 2)] == sunk.root_position[:, (0, 2)]).all()
    raised = Motion(walk.root_position + torch.tensor([0.0, 0.1, 0.0]), walk.angles, walk.fps)
    assert lift_skin(fox, anatomy, raised) is raised


def test_a_gait_that_planting_would_lose_is_only_put_on_the_ground(fox, anatomy, walk, monkeypatch):
    def work(*_: object, stance: object = None, **__: object) -> tuple[Motion, np.ndarray]:
        noise = 0.4 * torch.randn(walk.angles.shape, generator=torch.Generator().manual_seed(0))
        return Motion(walk.root_position, walk.angles + noise.to(walk.angles), walk.fps), np.ones(
            (len(walk), 4), dtype=bool
        )

    monkeypatch.setattr("kinema.job.feet.plan_and_plant", work)
    planted, stance = plant_feet(replace(FOX, loop=False), fox, anatomy, walk)
    assert stance is None
    assert measure(fox, planted, rig=anatomy.rig, limbs=anatomy.limbs).gait == "walk"
    # Where feet that only rise and sink lose it too, the clip is what was distilled, out of the ground.
    monkeypatch.setattr("kinema.job.feet.ground_feet", work)
    low = Motion(walk.root_position - torch.tensor([0.0, 0.05, 0.0]), walk.angles, walk.fps)
    lifted, stance = plant_feet(replace(FOX, loop=False), fox, anatomy, low)
    assert stance is None
    assert torch.equal(lifted.angles, low.angles)
    assert (lifted.root_position[:, 1] > low.root_position[:, 1]).all()


def test_physics_may_not_lose_the_gait_that_was_asked_for(fox, anatomy, walk):
    walks = measure(fox, walk, rig=anatomy.rig, limbs=anatomy.limbs)
    runs = replace(walks, gait="gallop")
    assert loses_gait(FOX, "walk", walks, runs)
    assert not loses_gait(FOX, "walk", walks, walks)
    assert not loses_gait(FOX, "gallop", walks, runs)
    assert not loses_gait(FOX, "wave", walks, runs)
    assert not loses_gait(replace(FOX, preset="paper"), "walk", walks, runs)
