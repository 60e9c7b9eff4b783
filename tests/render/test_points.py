"""Point maps against their definition: the mean of the skinned points that a camera sees in a cell."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from kinema.create.creatures import creature
from kinema.geometry.camera import Cameras
from kinema.render.follow import Viewpoint
from kinema.render.points import view_points
from kinema.render.stage import Stage
from kinema.rig.kinematics import Rig, forward_kinematics
from kinema.rig.limbs import find_limbs
from kinema.skin import Skin

SIDE = Viewpoint(60.0, 10.0, 0.9, 30.0)


@pytest.fixture(scope="module")
def stage() -> Stage:
    fox = creature("fox")
    assert fox.skeleton is not None
    rig, rng = Rig.from_skeleton(fox.skeleton), np.random.default_rng(0)
    return Stage.from_character(fox, rig, count=900, look="canonical", rng=rng, limbs=find_limbs(fox))


def poses(stage: Stage, frames: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """Random poses, and base paths that nothing follows."""
    generator = torch.Generator().manual_seed(0)
    angles = 0.5 * torch.randn(frames, len(stage.rig.parents), 3, generator=generator)
    base = stage.rig.heads[0] + torch.randn(frames, 3, generator=generator)
    return forward_kinematics(stage.rig, stage.rig.heads[0] + 0.1 * base, angles), base


def test_a_film_is_the_mean_of_the_skinned_points(stage: Stage) -> None:
    """One matrix product of the joints' transforms gives what skinning every point and averaging gives."""
    view = stage.view_points(SIDE, columns=32, rows=24)
    T_world_joint, base = poses(stage)
    points = stage.posed(T_world_joint).centers
    assert_close(view.film(T_world_joint, base), view.film_points(points, base), atol=1e-5, rtol=1e-4)
    still = view.film(stage.standing[None], stage.rig.heads[:1])
    assert_close(still, torch.zeros_like(still), atol=1e-5, rtol=0)


def test_the_gradient_is_that_of_finite_differences(stage: Stage) -> None:
    view = stage.view_points(SIDE, columns=8, rows=6)
    T_world_joint, base = poses(stage, 1)
    weight = torch.randn(1, 3, 6, 8, generator=torch.Generator().manual_seed(1))
    x = T_world_joint.clone().requires_grad_()
    (view.film(x, base) * weight).sum().backward()
    assert x.grad is not None
    step = torch.randn(T_world_joint.shape, generator=torch.Generator().manual_seed(2))
    # Linear in the transforms: a step of any size will do.
    change = ((view.film(T_world_joint + step, base) - view.film(T_world_joint, base)) * weight).sum()
    assert_close((x.grad * step).sum(), change, atol=1e-2, rtol=1e-3)


def test_what_is_behind_is_not_seen() -> None:
    """Two points on one ray of a camera that looks along -Z; the far one is seen only where it stands alone."""
    rest = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.5, 0.0, -1.0], [-0.4, 0.3, 1.0]])
    skin = Skin(torch.zeros(4, 1, dtype=torch.long), torch.ones(4, 1))
    rig = Rig.from_skeleton(creature("fox").skeleton)  # type: ignore[arg-type]
    camera = Cameras.look_at(torch.tensor([[0.0, 0.0, 9.0]]), torch.zeros(1, 3), fovy_deg=30.0, width=16, height=12)
    view = view_points(rest, rest, rest.abs(), skin, rig, camera, fill=0.9, size=2.0, unit=1.0)
    assert view.seen.tolist() == [0, 2, 3]
    assert int(view.coverage.sum()) == 3


def test_the_body_fills_its_share_of_the_picture(stage: Stage) -> None:
    for fill in (0.5, 0.9):
        covered = stage.view_points(Viewpoint(90.0, 5.0, fill, 30.0), columns=64, rows=48).coverage
        rows, columns = (int(covered.amax(axis).sum()) for axis in (1, 0))
        assert max(columns / 64, rows / 48) == pytest.approx(fill, abs=0.05)
