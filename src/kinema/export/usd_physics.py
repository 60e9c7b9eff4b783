# pyright: reportAttributeAccessIssue=false
# (pxr fills its modules at run time)
"""USD with the physics schema: the simulated boxes, masses and joints, and the motion as time samples. Extra `usd`."""

import tempfile
from pathlib import Path

import numpy as np
import torch

from kinema.errors import KinemaError
from kinema.export.usd import usd_reason
from kinema.geometry.transforms import matrix_to_quaternion
from kinema.motion.motion import Motion
from kinema.physics.model import Model
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig


def write_usd_physics(path: Path, rig: Rig, model: Model, cuboids: Cuboids, *, motion: Motion | None = None) -> None:
    """Write .usda or .usdc: a rigid body per bone with its box, ball joints between them, gravity and a ground."""
    try:
        from pxr import Gf, Tf, Usd, UsdGeom, UsdPhysics
    except ImportError:
        raise KinemaError(f"{path}: USD needs the extra `usd` (pip install 'kinema[usd]')") from None
    rig = rig.to(torch.float64)
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
    wxyz = matrix_to_quaternion(T[..., :3]).numpy()
    place = T[..., 3].numpy()
    moments, turns = torch.linalg.eigh(model.inertia.double())
    # eigh may return a reflection; a principal frame has to be a rotation.
    turns = turns * torch.where(torch.linalg.det(turns) < 0, -1.0, 1.0)[:, None, None]
    principal = matrix_to_quaternion(turns).numpy()
    box_wxyz = matrix_to_quaternion(torch.from_numpy(np.ascontiguousarray(cuboids.axes)).double()).numpy()

    def quaternion(q: np.ndarray) -> Gf.Quatf:
        return Gf.Quatf(*(float(x) for x in q))

    def vector(v) -> Gf.Vec3f:
        return Gf.Vec3f(*(float(x) for x in v))

    if motion is not None:
        stage.SetTimeCodesPerSecond(motion.fps)
        stage.SetStartTimeCode(0)
        stage.SetEndTimeCode(len(motion) - 1)
    for j, name in enumerate(names):
        bone = UsdGeom.Xform.Define(stage, f"/body/{name}")
        translate, orient = bone.AddTranslateOp(), bone.AddOrientOp()
        for frame in range(len(place)):
            when = Usd.TimeCode.Default() if motion is None else Usd.TimeCode(frame)
            translate.Set(Gf.Vec3d(*(float(x) for x in place[frame, j])), when)
            orient.Set(quaternion(wxyz[frame, j]), when)
        UsdPhysics.RigidBodyAPI.Apply(bone.GetPrim())
        mass = UsdPhysics.MassAPI.Apply(bone.GetPrim())
        mass.CreateMassAttr(float(model.mass[j]))
        mass.CreateCenterOfMassAttr(vector(model.com[j]))
        mass.CreateDiagonalInertiaAttr(vector(moments[j]))
        mass.CreatePrincipalAxesAttr(quaternion(principal[j]))
        box = UsdGeom.Cube.Define(stage, f"/body/{name}/box")
        box.CreateSizeAttr(2.0)
        box.AddTranslateOp().Set(Gf.Vec3d(*(float(x) for x in cuboids.centers[j])))
        box.AddOrientOp().Set(quaternion(box_wxyz[j]))
        box.AddScaleOp().Set(vector(cuboids.half_sizes[j]))
        UsdPhysics.CollisionAPI.Apply(box.GetPrim())
        if j > 0:
            joint = UsdPhysics.SphericalJoint.Define(stage, f"/body/{name}_joint")
            joint.CreateBody0Rel().SetTargets([f"/body/{names[rig.parents[j]]}"])
            joint.CreateBody1Rel().SetTargets([f"/body/{name}"])
            joint.CreateLocalPos0Attr(vector(rig.offsets[j]))
            joint.CreateLocalPos1Attr(vector((0, 0, 0)))
    # USD takes the format from the suffix, so a folder is the ".part".
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=path.stem, suffix=".part") as folder:
        layer = Path(folder) / path.name
        try:
            stage.GetRootLayer().Export(str(layer))
        except Tf.ErrorException as error:
            raise KinemaError(f"{path}: cannot be written ({usd_reason(error)})") from None
        layer.replace(path)
