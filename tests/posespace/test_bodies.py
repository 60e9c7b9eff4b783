"""Bodies as tensors against the rig's own kinematics, and the laws that augmented bodies obey."""

import dataclasses

import numpy as np
import pytest
import torch

from kinema.asset.character import Character
from kinema.motion.motion import Motion
from kinema.posespace.augment import mirrored, regrown, reshaped, rested, shared_turns
from kinema.posespace.batch import Bodies, features, place
from kinema.posespace.body import CHILD, FARTHEST, PARENT, PARTNER, Body
from kinema.posespace.pose import Poses, from_six, to_six, without_heading
from kinema.rig.kinematics import Rig


def some_poses(rig: Rig, count: int = 3) -> Poses:
    generator = torch.Generator().manual_seed(1)
    angles = 0.4 * torch.randn(count, len(rig.parents), 3, generator=generator)
    return Poses.of_motion(rig, Motion(rig.heads[:1].expand(count, 3) + 0.1, angles, 1.0))


def scaled(body: Body, poses: Poses) -> tuple[Bodies, torch.Tensor, torch.Tensor]:
    return Bodies.of([body] * len(poses)), poses.rotations, poses.height / body.scale


def test_places_are_those_of_forward_kinematics(fox: Character, rig: Rig) -> None:
    body, poses = Body.of(fox), some_poses(rig)
    _, position = place(*scaled(body, poses))
    root = rig.heads[0] * torch.tensor([1.0, 0.0, 1.0])
    torch.testing.assert_close(position * body.scale + root, poses.place(rig)[..., 3], atol=1e-5, rtol=1e-4)


def test_padding_changes_nothing(fox: Character, rig: Rig) -> None:
    body, poses = Body.of(fox), some_poses(rig, 1)
    larger = dataclasses.replace(body, parents=(*body.parents, 0), **{
        key: np.concatenate((getattr(body, key), getattr(body, key)[:1]))
        for key in ("heads", "tails", "skin_centers", "skin_spreads", "skin_shares")
    })  # fmt: skip
    both = Bodies.of([body, larger])
    local = torch.eye(3).expand(2, len(larger.parents), 3, 3).clone()
    local[:, : len(body.parents)] = poses.rotations
    _, position = place(both, local, poses.height.expand(2) / both.scale)
    alone = place(*scaled(body, poses))[1][0]
    torch.testing.assert_close(position[0, :-1], alone)
    torch.testing.assert_close(features(both)[0, :-1], features(Bodies.of([body]))[0])


def test_rotations_survive_six_numbers() -> None:
    rotation = torch.linalg.qr(torch.randn(20, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64))[
        0
    ]
    rotation = rotation * torch.linalg.det(rotation)[:, None, None]
    torch.testing.assert_close(from_six(to_six(rotation)), rotation)
    assert to_six(torch.eye(3)).abs().max() == 0


def test_heading_and_lean_make_the_rotation() -> None:
    rig_axes = torch.linalg.qr(torch.randn(20, 3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64))[
        0
    ]
    rotation = rig_axes * torch.linalg.det(rig_axes)[:, None, None]
    lean, heading = without_heading(rotation)
    torch.testing.assert_close(heading @ lean, rotation)
    torch.testing.assert_close(heading[:, :, 1], torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64).expand(20, 3))
    # Turning the whole body does not change its lean.
    turn = torch.tensor([[0.6, 0, 0.8], [0, 1, 0], [-0.8, 0, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(without_heading(turn @ rotation)[0], lean)


def test_legs_have_partners_and_relations(fox: Character) -> None:
    body = Body.of(fox)
    names = fox.skeleton.names if fox.skeleton else ()
    for j, partner in enumerate(body.partners):
        mirror = body.heads[j] * [-1, 1, 1]
        if partner != j:
            assert np.linalg.norm(body.heads[partner] - mirror) < 0.05 * body.scale, names[j]
            assert body.partners[partner] == j
    assert (body.partners != np.arange(len(names))).sum() >= 12  # four legs of three joints
    relation, distance = body.codes // (FARTHEST + 1), body.codes % (FARTHEST + 1)
    for j, parent in enumerate(body.parents[1:], start=1):
        assert (relation[j, parent], relation[parent, j], distance[j, parent]) == (PARENT, CHILD, 1)
    j = int(np.flatnonzero(body.partners != np.arange(len(names)))[0])
    assert relation[j, body.partners[j]] == PARTNER


def test_the_mirror_image_of_a_pose_is_the_pose_of_the_mirror_image(fox: Character, rig: Rig) -> None:
    bodies, local, height = scaled(Body.of(fox), some_poses(rig))
    image, turned = mirrored(bodies, local, torch.tensor([True, False, True]))
    before, after = place(bodies, local, height)[1], place(image, turned, height)[1]
    flip = torch.tensor([-1.0, 1.0, 1.0])
    torch.testing.assert_close(after[0], before[0] * flip)
    torch.testing.assert_close(after[1], before[1])


def test_a_pose_stays_where_it_is_when_another_becomes_the_rest_pose(fox: Character, rig: Rig) -> None:
    bodies, local, height = scaled(Body.of(fox), some_poses(rig))
    other = local.roll(1, 0)
    changed, turned, raised = rested(bodies, local, height, other, torch.tensor([True, True, False]))
    before, after = place(bodies, local, height)[1], place(changed, turned, raised)[1]
    # The same shape, up to the heading: distances between joints and heights over the ground.
    torch.testing.assert_close(after[..., 1], before[..., 1], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(torch.cdist(after, after), torch.cdist(before, before), atol=1e-4, rtol=1e-4)
    # The pose that became the rest pose is the identity.
    same, still, _ = rested(bodies, local, height, local, torch.ones(3, dtype=torch.bool))
    torch.testing.assert_close(still, torch.eye(3).expand_as(still), atol=1e-5, rtol=0)
    assert same.heads[..., 1][same.mask].min() >= bodies.heads[..., 1][bodies.mask].min() - 1e-5


def test_other_proportions_keep_the_scale_at_one_and_the_lowest_joint_over_the_ground(fox: Character, rig: Rig) -> None:
    bodies, local, height = scaled(Body.of(fox), some_poses(rig))
    everyone = torch.ones(3, dtype=torch.bool)
    shape, turned, raised = reshaped(bodies, local, height, everyone, generator=torch.Generator().manual_seed(3))
    assert turned is local
    before, after = place(bodies, local, height)[1][..., 1].amin(1), place(shape, local, raised)[1][..., 1].amin(1)
    grown = bodies.heads[..., 1].amin(1) / shape.heads[..., 1].amin(1)
    torch.testing.assert_close(after * grown, before, atol=1e-4, rtol=1e-3)
    lengths = shape.heads - torch.cat((shape.heads, torch.zeros(3, 1, 3)), 1)[torch.arange(3)[:, None], shape.parents]
    assert not torch.allclose(lengths.norm(dim=-1), bodies.offsets.norm(dim=-1))


@pytest.mark.parametrize("seed", range(3))
def test_joints_added_and_dropped_leave_the_others_in_place(fox: Character, rig: Rig, seed: int) -> None:
    body, poses = Body.of(fox), some_poses(rig, 1)
    variant = regrown(body, np.random.default_rng(seed), insert=0.5, drop=0.5, fine=0.0)
    source, shares = list(variant.source), torch.tensor(variant.shares)
    old = np.flatnonzero(shares == 1)
    assert (shares == 0).any()
    assert all(p < j for j, p in enumerate(variant.body.parents))
    local = shared_turns(poses.rotations[:, source], shares[None])
    after = place(Bodies.of([variant.body]), local, poses.height / variant.body.scale)[1] * variant.body.scale
    before = place(*scaled(body, poses))[1] * body.scale
    torch.testing.assert_close(after[:, old], before[:, np.array(source)[old]], atol=1e-5, rtol=1e-4)


def test_finer_chains_share_the_turns_of_coarse_ones(fox: Character, rig: Rig) -> None:
    body, poses = Body.of(fox), some_poses(rig, 1)
    variant = regrown(body, np.random.default_rng(0), insert=0.0, drop=0.0, fine=1.0)
    source, shares = np.array(variant.source), torch.tensor(variant.shares)
    assert len(source) > len(body.parents)
    assert variant.body.scale == pytest.approx(body.scale, rel=0.02)
    torch.testing.assert_close(torch.bincount(torch.from_numpy(source), shares), torch.ones(len(body.parents)))
    local = shared_turns(poses.rotations[:, source], shares[None])
    after, _ = place(Bodies.of([variant.body]), local, poses.height / variant.body.scale)
    last = len(source) - 1 - np.unique(source[::-1], return_index=True)[1]
    torch.testing.assert_close(after[:, last], place(*scaled(body, poses))[0], atol=1e-4, rtol=1e-4)
