import numpy as np
import pytest
import torch
from physics_bodies import boxes, model_of, quadruped

from kinema.export.usd_physics import write_usd_physics
from kinema.motion.motion import Motion

pytest.importorskip("pxr")


def test_bodies_masses_and_poses_are_in_the_stage(tmp_path) -> None:
    from pxr import Usd, UsdGeom, UsdPhysics

    body = quadruped()
    rig, model = model_of(body)
    angles = 0.2 * torch.randn(4, 17, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    motion = Motion(rig.heads[0].expand(4, 3), angles, 24.0)
    path = tmp_path / "body.usda"
    write_usd_physics(path, rig, model, boxes(body), motion=motion)
    stage = Usd.Stage.Open(str(path))
    bones = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI)]
    assert len(bones) == 17
    assert len([p for p in stage.Traverse() if p.IsA(UsdPhysics.SphericalJoint)]) == 16
    total = sum(UsdPhysics.MassAPI(p).GetMassAttr().Get() for p in bones)
    assert total == pytest.approx(float(model.mass.sum()), rel=1e-6)
    # Every box corner of every frame is where kinematics puts it.
    T = motion.pose(rig)
    corners = torch.from_numpy(boxes(body).corners)
    for frame in range(4):
        cache = UsdGeom.XformCache(Usd.TimeCode(frame))
        for j, bone in enumerate(bones):
            M = np.array(cache.GetLocalToWorldTransform(bone.GetChild("box")))
            unit = np.array([[x, y, z, 1.0] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            expected = (corners[j] @ T[frame, j, :, :3].mT + T[frame, j, :, 3]).numpy()
            np.testing.assert_allclose((unit @ M)[:, :3], expected, atol=1e-6)
