"""MuJoCo's MJCF: the simulated body with masses, boxes, joint limits and position servos, and a motion's trajectory.

Joints have the same meaning as Kinema's coordinates, in the depth-first order that MuJoCo gives to bodies:
`qpos = q[coordinate_order(rig)]`. The world is turned to Z up, as simulators want it, by one fixed body above the root.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import SupportsFloat

import numpy as np
import torch
from jaxtyping import Int

from kinema.export.common import unused_name
from kinema.files import replacing
from kinema.geometry import rotations
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
    order = coordinate_order(rig)
    q = torch.cat((motion.root_position, motion.angles.flatten(1)), -1).detach().double().cpu().numpy()
    qpos, time = q[:, order], np.arange(len(q)) / motion.fps
    qvel = np.gradient(qpos, 1 / motion.fps, axis=0) if len(qpos) > 1 else np.zeros_like(qpos)
    with replacing(path.with_name(path.stem + "_trajectory.npz")) as partial, partial.open("wb") as file:
        np.savez_compressed(file, time=time, qpos=qpos, qvel=qvel, joints=np.array(joint_names(rig))[order])


def joint_names(rig: Rig) -> tuple[str, ...]:
    """Names of Kinema's coordinates, in Kinema's order."""
    names = _body_names(rig)
    return tuple(f"{names[0]}_{k}" for k in ROOT_JOINTS) + tuple(f"{n}_{k}" for n in names[1:] for k in JOINTS)


def coordinate_order(rig: Rig) -> Int[np.ndarray, "dofs"]:
    """Index of Kinema's coordinate for each of MuJoCo's."""
    joints = np.array(rotations.depth_first(rig.parents))
    return np.concatenate(([0, 1, 2], (3 + 3 * joints[:, None] + np.arange(3)).ravel()))


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
    # Y up, facing +Z becomes Z up, facing -Y.
    turned = ET.SubElement(world, "body", name="y_up", quat=_text([np.sqrt(0.5), np.sqrt(0.5), 0, 0]))
    names, joints = _body_names(rig), joint_names(rig)
    bodies: list[ET.Element] = []
    for j, parent in enumerate(rig.parents):
        above = turned if parent < 0 else bodies[parent]
        body = ET.SubElement(above, "body", name=names[j], pos=_text(rig.offsets[j]))
        bodies.append(body)
        for k in range(3 if j == 0 else 0):
            # With ref the joint's coordinate is the absolute position.
            slide = {"type": "slide", "axis": _text(np.eye(3)[k]), "ref": _text([rig.heads[0, k]])}
            ET.SubElement(body, "joint", {"name": joints[k], **slide})
        for k in range(3):
            i = 3 + 3 * j + k
            limit = (float(model.lower[i]), float(model.upper[i]))
            hinge = {"type": "hinge", "axis": _text(rig.axes[j, :, k]), "armature": _text([model.armature[i]])}
            more = {"range": _text(limit)} if np.isfinite(limit).all() else {}
            ET.SubElement(body, "joint", {"name": joints[i], **hinge, **more})
        mass, inertia = _text([model.mass[j]]), model.inertia[j].double().flatten()[[0, 4, 8, 1, 2, 5]]
        ET.SubElement(body, "inertial", pos=_text(model.com[j]), mass=mass, fullinertia=_text(inertia))
        wxyz = rotations.from_matrix(cuboids.axes[j])
        box = {"pos": _text(cuboids.centers[j]), "quat": _text(wxyz), "size": _text(cuboids.half_sizes[j])}
        ET.SubElement(body, "geom", {"name": names[j], "type": "box", **box})
    actuators = ET.SubElement(root, "actuator")
    for i, joint in enumerate(joints):
        if float(model.stiffness[i]) > 0:
            gains = {"kp": _text([model.stiffness[i]]), "kv": _text([model.damping[i]])}
            ET.SubElement(actuators, "position", {"name": joint, "joint": joint, **gains})
    return root


def _body_names(rig: Rig) -> tuple[str, ...]:
    """Names made unique, without the slash that MuJoCo keeps for itself."""
    names = ["world", "y_up", "ground"]
    for name in rig.names:
        names.append(unused_name(name.replace("/", "_") or "joint", names))
    return tuple(names[3:])


def _text(values: Iterable[SupportsFloat]) -> str:
    return " ".join(f"{float(value):.9g}" for value in values)
