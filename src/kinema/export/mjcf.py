"""MuJoCo's MJCF: the simulated body with masses, boxes, joint limits and position servos, and a motion's trajectory.

The root has a freejoint; every other joint has three hinges with the meaning of Kinema's angles, in the depth-first
order that MuJoCo gives to bodies. The world is Z up, as simulators want it; a body at rest faces -Y, and its frames
keep Kinema's axes. The equality constraint `root_force` is a hand that carries the root along the trajectory; without
it (`active="false"`, or `data.eq_active[...] = 0`) the body has its servos and the ground.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from kinema.asset.character import unused_name
from kinema.files import replacing, write_text
from kinema.geometry import rotations
from kinema.motion.motion import Motion
from kinema.physics.model import Model
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig

JOINTS = ("flexion", "abduction", "twist")
WXYZ_UP = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
"""Turns Y up, facing +Z into Z up, facing -Y."""
ROOT_FORCE, ROOT_TARGET = "root_force", "root_target"
ROOT_SECONDS = 0.01
"""Time constant of the root force: some steps of the simulation, so that it holds without ringing."""


@dataclass(frozen=True)
class Trajectory:
    """A motion in MuJoCo's coordinates."""

    time: Float[np.ndarray, "frames"]
    """[s]"""
    qpos: Float[np.ndarray, "frames positions"]
    """Root position [m] and quaternion (wxyz), then the hinges [rad]."""
    qvel: Float[np.ndarray, "frames velocities"]
    """Root velocity in the world [m/s] and in the body [rad/s], then the hinges [rad/s]."""
    ctrl: Float[np.ndarray, "frames servos"]
    """Targets of the servos [rad]: ahead of the angles by kv / kp seconds, so that the damping does not hold them
    back."""
    root_target: Float[np.ndarray, "frames 7"]
    """Pose of the mocap body that the root force pulls to, ahead of the root for the same reason."""


def write_mjcf(path: Path, rig: Rig, model: Model, cuboids: Cuboids, *, motion: Motion | None = None) -> None:
    """Write PATH; with a motion also its first frame as the keyframe `start`, and beside it STEM_trajectory.npz (time,
    qpos, qvel, ctrl, names of joints and servos) and STEM_play.py, which plays it and needs only `mujoco`."""
    root = mjcf(rig, model, cuboids, name=path.stem)
    moves = None if motion is None else trajectory(rig, model, motion)
    if moves is not None:
        first = {"qpos": moves.qpos[0], "qvel": moves.qvel[0], "ctrl": moves.ctrl[0]}
        first |= {"mpos": moves.root_target[0, :3], "mquat": moves.root_target[0, 3:]}
        key = {"name": "start", **{name: _text(values) for name, values in first.items()}}
        ET.SubElement(ET.SubElement(root, "keyframe"), "key", key)
    tree = ET.ElementTree(root)
    ET.indent(tree)
    with replacing(path) as partial:
        tree.write(partial, encoding="utf-8", xml_declaration=True)
    if moves is None:
        return
    arrays: dict[str, Any] = {**vars(moves), "joints": np.array(joint_names(rig))}
    arrays["servos"] = np.array(servo_names(rig, model))
    with replacing(path.with_name(path.stem + "_trajectory.npz")) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)
    write_text(path.with_name(path.stem + "_play.py"), Path(__file__).with_name("mjcf_play.py").read_text())


def joint_names(rig: Rig) -> tuple[str, ...]:
    """Names of MuJoCo's joints, in its order: the freejoint, then the hinges."""
    names = _body_names(rig)
    joints = rotations.depth_first(rig.parents)[1:]
    return f"{names[0]}_free", *(f"{names[j]}_{k}" for j in joints for k in JOINTS)


def servo_names(rig: Rig, model: Model) -> tuple[str, ...]:
    """Names of the joints that have a servo, in the order of `ctrl`."""
    driven = (model.stiffness > 0).tolist()
    return tuple(name for name, i in zip(joint_names(rig)[1:], _hinges(rig), strict=True) if driven[i])


def trajectory(rig: Rig, model: Model, motion: Motion) -> Trajectory:
    """The motion in the coordinates of the model that `mjcf` makes."""
    clip, step, order = motion.to_clip(rig), 1 / motion.fps, _hinges(rig)
    x, y, z = clip.root_position.T
    wxyz = rotations.multiply(WXYZ_UP, clip.wxyz_parent_joint[:, 0])
    angles = motion.angles.detach().double().cpu().flatten(1).numpy()[:, [i - 3 for i in order]]
    qpos = np.concatenate((np.stack((x, -z, y), -1), wxyz, angles), -1)
    time, turn = step * np.arange(len(qpos)), Rotation.from_quat(wxyz[:, [1, 2, 3, 0]])
    spin, rates = np.zeros((1, 3)), np.zeros((1, 3 + len(order)))
    if len(time) > 1:
        rates = CubicSpline(time, np.delete(qpos, slice(3, 7), 1))(time, 1)
        spin = RotationSpline(time, turn)(time, 1)
        spin = turn.inv().apply(spin)
    stiffness, damping = (values.double().cpu().numpy()[order] for values in (model.stiffness, model.damping))
    driven = stiffness > 0
    ctrl = angles[:, driven] + damping[driven] / stiffness[driven] * rates[:, 3:][:, driven]
    # A constraint of MuJoCo with time constant T and damping ratio 1 lags by 2 T.
    ahead = turn * Rotation.from_rotvec(2 * ROOT_SECONDS * spin)
    target = qpos[:, :3] + 2 * ROOT_SECONDS * rates[:, :3], rotations.continuous(ahead.as_quat()[:, [3, 0, 1, 2]])
    qvel = np.concatenate((rates[:, :3], spin, rates[:, 3:]), -1)
    return Trajectory(time, qpos, qvel, ctrl, np.concatenate(target, -1))


def mjcf(rig: Rig, model: Model, cuboids: Cuboids, *, name: str) -> ET.Element:
    """The model as XML."""
    root = ET.Element("mujoco", model=name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", balanceinertia="true")
    ET.SubElement(root, "option", timestep="0.001", integrator="implicitfast", gravity="0 0 -9.81")
    default = ET.SubElement(root, "default")
    # Bones touch the ground but not each other, as in Kinema.
    friction = _text([model.contact.friction, 0.005, 0.0001])
    ET.SubElement(default, "geom", contype="1", conaffinity="0", friction=friction, rgba="0.8 0.6 0.4 1")
    world = ET.SubElement(root, "worldbody")
    ET.SubElement(world, "light", pos="0 0 4", dir="0 0 -1", directional="true")
    plane = {"name": "ground", "type": "plane", "size": "0 0 1", "contype": "0", "conaffinity": "1"}
    ET.SubElement(world, "geom", {**plane, "rgba": "0.6 0.6 0.6 1"})
    x, y, z = rig.heads[0].tolist()
    standing = {"pos": _text([x, -z, y]), "quat": _text(WXYZ_UP)}
    names = _body_names(rig)
    bodies: list[ET.Element] = []
    for j, parent in enumerate(rig.parents):
        at = standing if parent < 0 else {"pos": _text(rig.offsets[j])}
        body = ET.SubElement(world if parent < 0 else bodies[parent], "body", {"name": names[j], **at})
        bodies.append(body)
        if parent < 0:
            ET.SubElement(body, "freejoint", name=f"{names[0]}_free")
        for k in range(3 if parent >= 0 else 0):
            i = 3 + 3 * j + k
            limit = (float(model.lower[i]), float(model.upper[i]))
            hinge = {"type": "hinge", "axis": _text(rig.axes[j, :, k]), "armature": _text([model.armature[i]])}
            more = {"range": _text(limit)} if np.isfinite(limit).all() else {}
            ET.SubElement(body, "joint", {"name": f"{names[j]}_{JOINTS[k]}", **hinge, **more})
        mass, inertia = _text([model.mass[j]]), model.inertia[j].double().flatten()[[0, 4, 8, 1, 2, 5]]
        ET.SubElement(body, "inertial", pos=_text(model.com[j]), mass=mass, fullinertia=_text(inertia))
        wxyz = rotations.from_matrix(cuboids.axes[j])
        box = {"pos": _text(cuboids.centers[j]), "quat": _text(wxyz), "size": _text(cuboids.half_sizes[j])}
        ET.SubElement(body, "geom", {"name": names[j], "type": "box", **box})
    ET.SubElement(world, "body", {"name": ROOT_TARGET, "mocap": "true", **standing})
    root.append(ET.Comment(' The hand that carries the root along "root_target": active="false" lets go. '))
    held = {"body1": ROOT_TARGET, "body2": names[0], "relpose": "0 0 0 1 0 0 0", "active": "true"}
    spring = {"solref": _text([ROOT_SECONDS, 1.0])}
    ET.SubElement(ET.SubElement(root, "equality"), "weld", {"name": ROOT_FORCE, **held, **spring})
    actuators = ET.SubElement(root, "actuator")
    coordinate = dict(zip(joint_names(rig)[1:], _hinges(rig), strict=True))
    for joint in servo_names(rig, model):
        i = coordinate[joint]
        gains = {"kp": _text([model.stiffness[i]]), "kv": _text([model.damping[i]])}
        ET.SubElement(actuators, "position", {"name": joint, "joint": joint, **gains})
    return root


def _hinges(rig: Rig) -> list[int]:
    """Index of Kinema's coordinate for each of MuJoCo's hinges."""
    return [3 + 3 * j + k for j in rotations.depth_first(rig.parents)[1:] for k in range(3)]


def _body_names(rig: Rig) -> tuple[str, ...]:
    """Names made unique, without the slash that MuJoCo keeps for itself."""
    names = ["world", ROOT_TARGET, "ground"]
    for name in rig.names:
        names.append(unused_name(name.replace("/", "_") or "joint", names))
    return tuple(names[3:])


def _text(values: Iterable[SupportsFloat]) -> str:
    return " ".join(f"{float(value):.9g}" for value in values)
