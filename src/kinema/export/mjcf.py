"""MuJoCo's MJCF: the simulated body with its masses, boxes, stops and position servos, and the motion as a trajectory.

Joints have the same meaning as Kinema's coordinates, in the depth-first order that MuJoCo gives to bodies:
`qpos = q[coordinate_order(rig)]`. The world is turned to Z up, as simulators want it, by one fixed body above the root.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int

from kinema.files import replacing
from kinema.geometry.transforms import matrix_to_quaternion
from kinema.motion.motion import Motion
from kinema.physics.model import Model
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig

ROOT_JOINTS = ("x", "y", "z", "yaw", "roll", "pitch")
JOINTS = ("flexion", "abduction", "twist")


def write_mjcf(path: Path, rig: Rig, model: Model, cuboids: Cuboids, *, motion: Motion | None = None) -> None:
    """Write PATH, and beside it STEM_trajectory.npz with time [s], qpos, qvel and joint names if there is a motion."""
    tree = ET.ElementTree(mjcf(rig, model, cuboids, name=path.stem))
    ET.indent(tree)
    with replacing(path) as partial:
        tree.write(partial, encoding="utf-8", xml_declaration=True)
    if motion is None:
        return
    trajectory = path.with_name(path.stem + "_trajectory.npz")
    q = torch.cat((motion.root_position, motion.angles.flatten(1)), -1).detach().double().cpu().numpy()
    order = coordinate_order(rig)
    qpos = q[:, order]
    qvel = np.gradient(qpos, 1 / motion.fps, axis=0) if len(qpos) > 1 else np.zeros_like(qpos)
    with replacing(trajectory) as partial, partial.open("wb") as file:
        time = np.arange(len(qpos)) / motion.fps
        np.savez_compressed(file, time=time, qpos=qpos, qvel=qvel, joints=np.array(joint_names(rig))[order])


def joint_names(rig: Rig) -> tuple[str, ...]:
    """Of Kinema's coordinates, in Kinema's order."""
    names = _body_names(rig)
    return tuple(f"{names[0]}_{k}" for k in ROOT_JOINTS) + tuple(f"{n}_{k}" for n in names[1:] for k in JOINTS)


def coordinate_order(rig: Rig) -> Int[np.ndarray, "dofs"]:
    """Index of Kinema's coordinate for each of MuJoCo's."""
    children = [[c for c, p in enumerate(rig.parents) if p == j] for j in range(len(rig.parents))]
    stack, joints = [0], []
    while stack:
        joints.append(stack.pop())
        stack.extend(reversed(children[joints[-1]]))
    return np.concatenate(([0, 1, 2], (3 + 3 * np.array(joints)[:, None] + np.arange(3)).ravel()))


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
    ET.SubElement(
        world, "geom", name="ground", type="plane", size="0 0 1", contype="0", conaffinity="1", rgba="0.6 0.6 0.6 1"
    )
    # Y up, facing +Z becomes Z up, facing -Y.
    turned = ET.SubElement(world, "body", name="y_up", quat=_text([np.sqrt(0.5), np.sqrt(0.5), 0, 0]))
    names, joints = _body_names(rig), joint_names(rig)
    bodies: list[ET.Element] = []
    for j, parent in enumerate(rig.parents):
        above = turned if parent < 0 else bodies[parent]
        body = ET.SubElement(above, "body", name=names[j], pos=_text(rig.offsets[j]))
        bodies.append(body)
        _add_joints(body, rig, model, j, joints)
        _add_mass(body, model, cuboids, j, names[j])
    actuators = ET.SubElement(root, "actuator")
    for i, joint in enumerate(joints):
        if float(model.stiffness[i]) > 0:
            gains = {"kp": _text([model.stiffness[i]]), "kv": _text([model.damping[i]])}
            ET.SubElement(actuators, "position", {"name": joint, "joint": joint, **gains})
    return root


def _add_joints(body: ET.Element, rig: Rig, model: Model, j: int, names: tuple[str, ...]) -> None:
    if j == 0:
        for k in range(3):
            # With ref the joint's coordinate is the absolute position.
            ref = _text([rig.heads[0, k]])
            ET.SubElement(body, "joint", name=names[k], type="slide", axis=_text(np.eye(3)[k]), ref=ref)
    for k in range(3):
        i = 3 + 3 * j + k
        limit = (float(model.lower[i]), float(model.upper[i]))
        more = {"range": _text(limit)} if np.isfinite(limit).all() else {}
        armature = _text([model.armature[i]])
        axis = _text(rig.axes[j, :, k])
        hinge = {"name": names[i], "type": "hinge", "axis": axis, "armature": armature}
        ET.SubElement(body, "joint", {**hinge, **more})


def _add_mass(body: ET.Element, model: Model, cuboids: Cuboids, j: int, name: str) -> None:
    inertia = model.inertia[j].double().flatten()[[0, 4, 8, 1, 2, 5]]
    mass = _text([model.mass[j]])
    ET.SubElement(body, "inertial", pos=_text(model.com[j]), mass=mass, fullinertia=_text(inertia))
    wxyz = matrix_to_quaternion(torch.from_numpy(cuboids.axes[j]).double())
    box = {"pos": _text(cuboids.centers[j]), "quat": _text(wxyz), "size": _text(cuboids.half_sizes[j])}
    ET.SubElement(body, "geom", {"name": name, "type": "box", **box})


def _body_names(rig: Rig) -> tuple[str, ...]:
    """Names made unique, without the slash that MuJoCo keeps for itself."""
    names: list[str] = []
    for name in rig.names:
        clean = name.replace("/", "_") or "joint"
        count = 2
        unique = clean
        while unique in names or unique in ("world", "y_up", "ground"):
            unique = f"{clean}.{count}"
            count += 1
        names.append(unique)
    return tuple(names)


def _text(values) -> str:
    return " ".join(f"{float(value):.9g}" for value in values)
