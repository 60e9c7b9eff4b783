"""USD with the physics schema: the simulated boxes, masses and joints, and the motion as time samples. Extra `usd`."""

# pxr fills its modules when it is loaded, which a type checker cannot see.
# pyright: reportAttributeAccessIssue=false

from pathlib import Path
from typing import Any

import torch

from kinema.export.usd import usd_folder
from kinema.geometry import rotations
from kinema.motion.motion import Motion
from kinema.physics.model import Model
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig


def write_usd_physics(path: Path, rig: Rig, model: Model, cuboids: Cuboids, *, motion: Motion | None = None) -> None:
    """Write .usda or .usdc: a rigid body per bone with its box, ball joints between them, gravity and a ground."""
    with usd_folder(path) as folder:
        stage = _stage(rig.to(torch.float64), model, cuboids, motion)
        stage.GetRootLayer().Export(str(folder / path.name))
        (folder / path.name).replace(path)


def _stage(rig: Rig, model: Model, cuboids: Cuboids, motion: Motion | None) -> Any:
    from pxr import Gf, Usd, UsdGeom, UsdPhysics

    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    world = UsdGeom.Xform.Define(stage, "/body")
    stage.SetDefaultPrim(world.GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(world.GetPrim())
    scene = UsdPhysics.Scene.Define(stage, "/body/scene")
    scene.CreateGravityDirectionAttr(Gf.Vec3f(0, -1, 0))
    scene.CreateGravityMagnitudeAttr(-model.gravity[1])
    ground = UsdGeom.Plane.Define(stage, "/body/ground")
    ground.CreateAxisAttr("Y")
    UsdPhysics.CollisionAPI.Apply(ground.GetPrim())
    names = [f"b{j}_{''.join(c if c.isalnum() else '_' for c in name)}" for j, name in enumerate(rig.names)]
    rest = Motion.rest(rig, frames=1, fps=24.0) if motion is None else motion
    T = Motion(rest.root_position.detach().double(), rest.angles.detach().double(), rest.fps).pose(rig)
    wxyz, place = rotations.from_matrix(T[..., :3].numpy()), T[..., 3].numpy()
    moments, turns = torch.linalg.eigh(model.inertia.double())
    # eigh may return a reflection; a principal frame has to be a rotation.
    turns = turns * torch.where(torch.linalg.det(turns) < 0, -1.0, 1.0)[:, None, None]
    principal, box_wxyz = rotations.from_matrix(turns.numpy()), rotations.from_matrix(cuboids.axes)
    if motion is not None:
        stage.SetTimeCodesPerSecond(motion.fps)
        stage.SetStartTimeCode(0)
        stage.SetEndTimeCode(len(motion) - 1)
    for j, name in enumerate(names):
        bone = UsdGeom.Xform.Define(stage, f"/body/{name}")
        translate, orient = bone.AddTranslateOp(), bone.AddOrientOp()
        for frame in range(len(place)):
            when = Usd.TimeCode.Default() if motion is None else Usd.TimeCode(frame)
            translate.Set(Gf.Vec3d(*place[frame, j].tolist()), when)
            orient.Set(Gf.Quatf(*wxyz[frame, j].tolist()), when)
        UsdPhysics.RigidBodyAPI.Apply(bone.GetPrim())
        mass = UsdPhysics.MassAPI.Apply(bone.GetPrim())
        mass.CreateMassAttr(float(model.mass[j]))
        mass.CreateCenterOfMassAttr(Gf.Vec3f(*model.com[j].tolist()))
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*moments[j].tolist()))
        mass.CreatePrincipalAxesAttr(Gf.Quatf(*principal[j].tolist()))
        box = UsdGeom.Cube.Define(stage, f"/body/{name}/box")
        box.CreateSizeAttr(2.0)
        box.AddTranslateOp().Set(Gf.Vec3d(*cuboids.centers[j].tolist()))
        box.AddOrientOp().Set(Gf.Quatf(*box_wxyz[j].tolist()))
        box.AddScaleOp().Set(Gf.Vec3f(*cuboids.half_sizes[j].tolist()))
        UsdPhysics.CollisionAPI.Apply(box.GetPrim())
        if j > 0:
            joint = UsdPhysics.SphericalJoint.Define(stage, f"/body/{name}_joint")
            joint.CreateBody0Rel().SetTargets([f"/body/{names[rig.parents[j]]}"])
            joint.CreateBody1Rel().SetTargets([f"/body/{name}"])
            joint.CreateLocalPos0Attr(Gf.Vec3f(*rig.offsets[j].tolist()))
            joint.CreateLocalPos1Attr(Gf.Vec3f(0, 0, 0))
    return stage
