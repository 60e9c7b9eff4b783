"""MuJoCo as an independent judge: it loads the exported model, and free motion agrees with the kernel."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from physics_bodies import boxes, humanoid, model_of, passive, quadruped, rest

from kinema.export.mjcf import joint_names, trajectory, write_mjcf
from kinema.geometry.rotations import depth_first
from kinema.motion.motion import Motion
from kinema.physics.model import Control, State
from kinema.physics.rollout import rollout
from kinema.rig.kinematics import forward_kinematics

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(params=[quadruped, humanoid])
def exported(request, tmp_path):
    body = request.param()
    rig, model = model_of(body)
    generator = torch.Generator().manual_seed(0)
    angles = 0.3 * torch.randn(5, len(rig.parents), 3, generator=generator, dtype=torch.float64)
    motion = Motion(rig.heads[0] + 0.1 * torch.randn(5, 3, generator=generator, dtype=torch.float64), angles, 24.0)
    path = tmp_path / "body.xml"
    write_mjcf(path, rig, model, boxes(body), motion=motion)
    return rig, model, motion, path


def _heads(rig, data) -> np.ndarray:
    """Joint heads in Kinema's world and order (MuJoCo's is turned to Z up and depth first)."""
    x, y, z = data.xpos[1 : 1 + len(rig.parents)].T
    heads = np.zeros((len(rig.parents), 3))
    heads[depth_first(rig.parents)] = np.stack((x, z, -y), -1)
    return heads


def _coordinates(rig, model, q: torch.Tensor) -> np.ndarray:
    """MuJoCo's qpos of Kinema's coordinates."""
    return trajectory(rig, model, Motion(q[:, :3], q[:, 3:].unflatten(1, (-1, 3)), 24.0)).qpos


def test_rest_and_trajectory_are_reproduced(exported) -> None:
    rig, model, motion, path = exported
    judge = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(judge)
    mujoco.mj_forward(judge, data)
    np.testing.assert_allclose(_heads(rig, data), rig.heads.numpy(), atol=1e-7)
    assert judge.body_subtreemass[0] == pytest.approx(float(model.mass.sum()), rel=1e-6)
    with np.load(path.with_name("body_trajectory.npz")) as file:
        assert [judge.joint(i).name for i in range(judge.njnt)] == file["joints"].tolist()
        assert file["joints"].tolist() == list(joint_names(rig))
        assert [judge.actuator(i).name for i in range(judge.nu)] == file["servos"].tolist()
        assert file["ctrl"].shape == (5, judge.nu)
        assert judge.joint(0).type == mujoco.mjtJoint.mjJNT_FREE
        poses = forward_kinematics(rig, motion.root_position, motion.angles)
        for qpos, pose in zip(file["qpos"], poses):
            data.qpos[:] = qpos
            mujoco.mj_forward(judge, data)
            np.testing.assert_allclose(_heads(rig, data), pose[..., 3].numpy(), atol=1e-6)


@pytest.mark.parametrize("controlled", [False, True])
def test_motion_without_contact_agrees_within_one_percent(exported, controlled: bool) -> None:
    rig, model, _, path = exported
    dt, steps = 2e-4, 2500
    generator = torch.Generator().manual_seed(2)
    q = rest(rig)
    q[:, 3:] += 0.2 * torch.randn(q[:, 3:].shape, generator=generator, dtype=torch.float64)
    v = torch.randn(q.shape, generator=generator, dtype=torch.float64)
    control = rest(rig)
    judge = mujoco.MjModel.from_xml_path(str(path))
    judge.opt.timestep = dt
    judge.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    judge.geom_contype[:] = judge.geom_conaffinity[:] = 0
    free = passive(model)
    if controlled:
        # Soft servos, so that the joints really swing; the same gains on both sides.
        free = replace(free, stiffness=0.02 * model.stiffness, damping=0.002 * model.damping)
        # The upright force of ours has no servo there.
        free.stiffness[:6] = free.damping[:6] = 0
        judge.actuator_gainprm[:, 0] *= 0.02
        judge.actuator_biasprm[:, 1] *= 0.02
        judge.actuator_biasprm[:, 2] *= 0.002
    else:
        judge.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    # A freejoint has no armature.
    free = replace(free, armature=torch.where(torch.arange(model.dofs) < 6, 0.0, model.armature))
    data = mujoco.MjData(judge)
    data.eq_active[:] = False
    data.qpos[:] = _coordinates(rig, model, q)[0]
    # A small step along v in both directions: MuJoCo itself tells the velocity between two poses.
    ends = _coordinates(rig, model, torch.cat((q - 1e-5 * v, q + 1e-5 * v)))
    mujoco.mj_differentiatePos(judge, data.qvel, 2e-5, *ends)
    # MuJoCo's integrator is of fourth order, ours of first.
    expected = [data.qpos.copy()]
    for step in range(steps):
        mujoco.mj_step(judge, data)
        if (step + 1) % 250 == 0:
            expected.append(data.qpos.copy())
    ours = rollout(free, State(q, v), Control(control[:, None]), dt=dt / 8, steps=8 * steps, save_every=2000)
    ours = _coordinates(rig, model, ours[0][0])
    expected = np.stack(expected)
    ours[:, 3:7] *= np.sign((ours[:, 3:7] * expected[:, 3:7]).sum(-1, keepdims=True))
    moved = np.abs(expected - expected[0]).max(0)
    assert np.median(moved) > 0.05
    # Joint trajectories: the error of each coordinate against how far the coordinates travel
    error = np.abs(ours - expected).max(0)
    assert float((error / np.maximum(moved, np.median(moved))).max()) < 0.01
