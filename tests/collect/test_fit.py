"""Joints fitted to films of known motions come back; the step is that of Gauss and Newton."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import jacfwd

from kinema.asset.character import Character
from kinema.collect.fit import COUNTED, ROOT_WAY, SURE, Cells, Ease, fit_frames
from kinema.create.creatures import creature
from kinema.gait.hang import hanging_arms
from kinema.gait.make import make_motion
from kinema.geometry.transforms import rotation_matrix, rotation_vector
from kinema.render.follow import Viewpoint
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import place_joints
from kinema.skin import from_rest


def filmed(character: Character, motion: str) -> tuple[Cells, Ease, Tensor, Tensor, float]:
    """Cells of both sides, where a procedural motion has them, its joints, and the body's size."""
    anatomy = Anatomy.of(character)
    standing = hanging_arms(anatomy.rig, anatomy.limbs)
    stage = Stage.from_character(
        character, anatomy.rig, count=1000, look="canonical", rng=np.random.default_rng(0), relax=0,
        limbs=anatomy.limbs, standing=standing,
    )  # fmt: skip
    views = [stage.view_points(Viewpoint(yaw, 10.0, 0.93, 30.0), columns=32, rows=24) for yaw in (60.0, -60.0)]
    placed = make_motion(anatomy.rig, anatomy.limbs, motion, frames=8, fps=8.0)[0].pose(anatomy.rig)
    base = anatomy.rig.heads[0].expand(8, 3)
    cells = Cells.of(views, [view.coverage.flatten() > 0 for view in views])
    wanted = cells.places([view.film(placed, base).flatten(-2) for view in views])
    return cells, Ease.of(anatomy.rig, anatomy.limbs, standing), wanted, placed, stage.size


@pytest.mark.parametrize(
    ("name", "motion"), [("fox", "gallop"), ("fox", "lie"), ("person", "sit"), ("spider", "turn_left")]
)
def test_joints_fitted_to_true_films_come_back(name: str, motion: str) -> None:
    cells, ease, wanted, placed, size = filmed(creature(name), motion)
    found = fit_frames(cells, ease, wanted)
    away = (place_joints(cells.rig, found.root, found.rotations)[..., 3] - placed[..., 3]).norm(dim=-1)
    assert float(away.mean()) < 0.012 * size
    assert float(found.missing.max()) < 0.05
    assert bool((found.missing < 0.2 * found.moved).all())


def test_the_fit_is_a_minimum_of_its_energy(fox: Character) -> None:
    """The twin: the same energy by autodiff, whose gradient vanishes where the fit ends.

    With joints that are equally stiff about all axes: only then is a turn's own derivative in the pull exactly one.
    """
    cells, ease, wanted, _, _ = filmed(fox, "gallop")
    cells = Cells(cells.rig.to(torch.float64), cells.carry.double(), cells.standing.double(), cells.unit, cells.kept)
    stiffness = 10 * torch.eye(3, dtype=torch.float64).expand(len(cells.rig.parents), 3, 3)
    ease, wanted = Ease(ease.standing.double(), stiffness), wanted[:1].double()
    found = fit_frames(cells, ease, wanted, rounds=60)
    precision = COUNTED / (wanted.shape[-1] * (SURE * cells.unit) ** 2)

    def energy(turn_and_way: Tensor) -> Tensor:
        turn, way = turn_and_way[:-3].view(-1, 3), turn_and_way[-3:]
        rotations, root = rotation_matrix(turn + 1e-12) @ found.rotations[0], found.root[0] + way
        places = (from_rest(cells.rig, place_joints(cells.rig, root, rotations)) @ cells.carry).sum(0)
        away = rotation_vector(rotations @ ease.standing.mT)
        pull = (away * (ease.stiffness @ away[..., None]).squeeze(-1)).sum()
        beside = ((root - cells.rig.heads[0]) / (ROOT_WAY * cells.unit)).square().sum()
        return precision * (places - wanted[0]).square().sum() + pull + beside

    none = torch.zeros(3 * len(cells.rig.parents) + 3, dtype=torch.float64)
    assert float(jacfwd(energy)(none).abs().max()) < 1e-6 * float(energy(none))
