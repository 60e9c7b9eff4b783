"""Marks: colours tell where points of the skin are, and their distance pulls limbs that images no longer reach."""

import numpy as np
import pytest
import torch

from kinema.create.creatures import creature
from kinema.distill.marks import Marks, find_aims, locate, mark_distance, project
from kinema.gait.hang import hanging_arms
from kinema.render.follow import Viewpoint
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import forward_kinematics

SIZE = {"width": 72, "height": 96}
VIEW = Viewpoint(40.0, 10.0, 1.0, 30.0)


@pytest.fixture(scope="module")
def body() -> tuple[Stage, Anatomy]:
    character = creature("a person")
    anatomy = Anatomy.of(character)
    standing = hanging_arms(anatomy.rig, anatomy.limbs)
    cover = {"count": 1500, "look": "canonical", "rng": np.random.default_rng(0)}
    return Stage.from_character(character, anatomy.rig, limbs=anatomy.limbs, standing=standing, **cover), anatomy


def raised(stage: Stage, anatomy: Anatomy, angle: float) -> torch.Tensor:
    """T_world_joint of one frame with the left upper arm turned about the character's forward axis."""
    angles = hanging_arms(anatomy.rig, anatomy.limbs)
    arm = next(arm for arm in anatomy.limbs.arms if arm.side > 0)
    angles[arm.joints[0]] = angles[arm.joints[0]] + angle
    return forward_kinematics(stage.rig, stage.rig.heads[:1], angles[None])


def test_the_middle_of_a_colour_is_where_its_pixels_are() -> None:
    video = torch.full((1, 3, 96, 72), 0.5)
    red = torch.tensor([1.0, 0.1, 0.1])
    video[0, :, 20:30, 40:44] = red[:, None, None]
    place, sure = locate(video, torch.stack((red, torch.tensor([0.1, 0.1, 1.0]))))
    torch.testing.assert_close(place[0, 0], torch.tensor([42.0, 25.0]))
    assert sure[0, 0] > 0.8
    assert sure[0, 1] < 0.01


def test_marks_of_the_standing_body_are_where_they_are(body: tuple[Stage, Anatomy]) -> None:
    stage, _ = body
    marks = Marks.of(stage)
    cameras = stage.cameras(stage.rig.heads[:1], VIEW, **SIZE)
    still = stage.film(stage.standing[None], cameras)
    aims = find_aims(marks, stage, still, cameras, still=still, at_rest=cameras)
    seen = aims.confidence[0] > 0.5
    assert seen.sum() > 20
    away = (project(marks.at(stage, stage.standing[None]), cameras) - aims.places_px).norm(dim=-1)[0]
    assert away[seen].max() < 0.1  # the bias of the standing body is taken off


def test_a_raised_arm_is_found_from_a_hanging_one(body: tuple[Stage, Anatomy]) -> None:
    """Descending the marks' distance alone brings the hand most of the way, where images have no overlap."""
    stage, anatomy = body
    marks, cameras = Marks.of(stage), stage.cameras(stage.rig.heads[:1], VIEW, **SIZE)
    truth = raised(stage, anatomy, 1.5)
    still = stage.film(stage.standing[None], cameras)
    aims = find_aims(marks, stage, stage.film(truth, cameras), cameras, still=still, at_rest=cameras)
    angles = hanging_arms(anatomy.rig, anatomy.limbs).requires_grad_()
    optimizer = torch.optim.Adam([angles], lr=0.05)
    hand = next(arm for arm in anatomy.limbs.arms if arm.side > 0).joints[-1]
    first = None
    for _ in range(60):
        pose = forward_kinematics(stage.rig, stage.rig.heads[:1], angles[None])
        loss = mark_distance(marks.at(stage, pose), aims)
        first = first or float((pose[0, hand, :, 3] - truth[0, hand, :, 3]).detach().norm())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    left = float((pose[0, hand, :, 3] - truth[0, hand, :, 3]).detach().norm())
    assert left < 0.45 * first


def test_gradient_of_the_distance(body: tuple[Stage, Anatomy]) -> None:
    stage, anatomy = body
    marks, cameras = Marks.of(stage, count=8), stage.cameras(stage.rig.heads[:1], VIEW, **SIZE)
    still = stage.film(stage.standing[None], cameras)
    aims = find_aims(marks, stage, still, cameras, still=still, at_rest=cameras)
    pose = raised(stage, anatomy, 0.4).requires_grad_()
    mark_distance(marks.at(stage, pose), aims).backward()
    direction = torch.randn(pose.shape, generator=torch.Generator().manual_seed(1))
    step = 1e-2
    ahead, behind = (mark_distance(marks.at(stage, (pose + s * step * direction).detach()), aims) for s in (1, -1))
    torch.testing.assert_close((pose.grad * direction).sum(), (ahead - behind) / (2 * step), rtol=0.02, atol=1e-3)
