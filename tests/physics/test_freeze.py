"""Joints that are held still move as one rigid body with the joint above them."""

import torch
from torch.testing import assert_close

from kinema.create.creatures import creature
from kinema.physics.freeze import dofs_of, freeze, moving_joints
from kinema.physics.model import Model, make_model
from kinema.physics.twin import pseudo_inertia
from kinema.rig.cuboids import bone_cuboids
from kinema.rig.kinematics import Rig, forward_kinematics


def fox_model() -> tuple[Rig, Model]:
    fox = creature("fox", detail="low")
    rig = Rig.from_skeleton(fox.skeleton, dtype=torch.float64)
    return rig, make_model(rig, bone_cuboids(fox))


def moment(model: Model, pose: torch.Tensor) -> torch.Tensor:
    """Σ T S Tᵀ: mass, centre and second moments of the whole body in the world."""
    return (pose @ pseudo_inertia(model).to(pose) @ pose.mT).sum(-3)


def test_mass_and_moments_of_the_whole_are_kept():
    rig, model = fox_model()
    kept = [0, 1, 2, 3, 5, 7]
    kept = sorted({k for j in kept for k in (j, *_above(model.parents, j))})
    small = freeze(model, kept)
    assert small.dofs == 3 + 3 * len(kept) == len(dofs_of(kept))
    assert_close(small.mass.sum(), model.mass.sum())
    angles = torch.zeros(1, len(model.parents), 3, dtype=torch.float64)
    angles[:, kept] = 0.3 * torch.randn(
        1, len(kept), 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    position = rig.heads[:1]
    whole = forward_kinematics(rig, position, angles)
    heads = small.offsets.clone()
    for j, p in enumerate(small.parents):
        heads[j] += heads[p] if p >= 0 else 0.0
    small_rig = Rig(tuple(rig.names[j] for j in kept), small.parents, heads, small.axes)
    part = forward_kinematics(small_rig, position, angles[:, kept])
    assert_close(part, whole[:, kept])
    # A rigid body in any pose: the frozen model has the same mass, centre and inertia as all its bones.
    assert_close(moment(small, part), moment(model, whole))


def test_feet_and_heavy_joints_move():
    _, model = fox_model()
    leaf = max(range(len(model.parents)), key=lambda j: -float(model.mass[j]))
    assert leaf in moving_joints(model, [leaf])
    moving = moving_joints(model, ())
    assert 0 in moving
    assert all(p in moving for j in moving if (p := model.parents[j]) >= 0)
    assert freeze(model, list(range(len(model.parents)))) is model


def _above(parents, joint):
    while (joint := parents[joint]) >= 0:
        yield joint
