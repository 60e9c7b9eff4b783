"""MuJoCo as an independent judge: it loads the exported model, and free motion agrees with the kernel."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from physics_bodies import boxes, humanoid, model_of, passive, quadruped, rest

from kinema.export.mjcf import coordinate_order, joint_names, write_mjcf
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
    joints = coordinate_order(rig)[3::3] // 3 - 1
    x, y, z = data.xpos[2:].T
    heads = np.zeros((len(rig.parents), 3))
    heads[joints] = np.stack((x, z, -y), -1)
    return heads


def test_rest_and_trajectory_are_reproduced(exported) -> None:
    rig, model, motion, path = exported
    judge = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(judge)
    mujoco.mj_forward(judge, data)
    np.testing.assert_allclose(_heads(rig, data), rig.heads.numpy(), atol=1e-7)
    assert judge.body_subtreemass[0] == pytest.approx(float(model.mass.sum()), rel=1e-6)
    with np.load(path.with_name("body_trajectory.npz")) as file:
        assert [judge.joint(i).name for i in range(judge.njnt)] == file["joints"].tolist()
        assert sorted(file["joints"]) == sorted(joint_names(rig))
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
        judge.actuator_gainprm[:, 0] *= 0.02
        judge.actuator_biasprm[:, 1] *= 0.02
        judge.actuator_biasprm[:, 2] *= 0.002
    else:
        judge.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    free = replace(free, armature=model.armature)
    order = coordinate_order(rig)
    data = mujoco.MjData(judge)
    data.qpos[:], data.qvel[:] = q[0].numpy()[order], v[0].numpy()[order]
    # MuJoCo's integrator is of fourth order, ours of first.
    expected = [data.qpos.copy()]
    for step in range(steps):
        mujoco.mj_step(judge, data)
        if (step + 1) % 250 == 0:
            expected.append(data.qpos.copy())
    ours = rollout(free, State(q, v), Control(control[:, None]), dt=dt / 8, steps=8 * steps, save_every=2000)
    ours = ours[0][0].numpy()[:, order]
    expected = np.stack(expected)
    moved = np.abs(expected - expected[0]).max(0)
    assert np.median(moved) > 0.05
    # Joint trajectories: the error of each coordinate against how far the coordinates travel
    error = np.abs(ours - expected).max(0)
    assert float((error / np.maximum(moved, np.median(moved))).max()) < 0.01
