"""Report of how a motion stands on the ground: the same for what goes into the tracker and what comes out."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.geometry.rotations import runs
from kinema.motion.feet import contact_paths
from kinema.motion.motion import Motion, rotation_angles
from kinema.motion.plant import corner_paths
from kinema.physics.model import Model
from kinema.physics.twin import pseudo_inertia
from kinema.rig.cuboids import Cuboids
from kinema.rig.ik import Effector
from kinema.rig.kinematics import Rig


@dataclass(frozen=True)
class GroundReport:
    """Contact and energy of a motion whose stance phases are known."""

    stance_speed: float
    """Mean horizontal speed of the contact points in stance [m/s]."""
    body_speed: float
    """Mean horizontal speed of the root [m/s]."""
    loaded_slip: float
    """Mean horizontal speed of cuboid corners less than 5 mm above the ground [m/s]."""
    depth: float
    """Greatest depth of a cuboid corner below the ground [m]."""
    airborne: float
    """Share of stance frames in which no foot is within 1 cm of the ground."""
    missed: int
    """Stance phases in which the foot never comes within 1 cm of the ground."""
    stances: int
    """Number of stance phases."""
    power: float
    """Mean increase of mechanical energy per second and mass [W/kg]."""


def ground_report(
    rig: Rig,
    cuboids: Cuboids,
    model: Model,
    feet: tuple[Effector, ...],
    motion: Motion,
    stance: Bool[np.ndarray, "frames feet"],
    *,
    touch: float = 0.01,
) -> GroundReport:
    """Measure a motion; `stance` is that of the target, the same before and after tracking."""
    rig = rig.to(torch.float64)
    motion = Motion(motion.root_position.detach().double(), motion.angles.detach().double(), motion.fps)
    corners = corner_paths(rig, cuboids, motion)
    heights, velocities = contact_paths(feet, motion.pose(rig), fps=motion.fps)
    both = stance[1:] & stance[:-1]
    speed = np.linalg.norm(velocities[..., [0, 2]], axis=-1)
    moved = (corners[1:] - corners[:-1]) * motion.fps
    loaded = (corners[1:, ..., 1] < 0.005) & (corners[:-1, ..., 1] < 0.005)
    slide = moved[..., [0, 2]].norm(dim=-1)
    root = (motion.root_position[1:] - motion.root_position[:-1])[:, [0, 2]].norm(dim=-1) * motion.fps
    standing = stance.any(1)
    stances = [(k, a, b) for k in range(stance.shape[1]) for a, b in runs(stance[:, k])]
    energy = mechanical_energy(rig, model, motion)
    seconds = max(len(energy) - 1, 1) / motion.fps
    return GroundReport(
        float(speed[both].mean()) if both.any() else 0.0,
        float(root.mean()) if len(root) else 0.0,
        float(slide[loaded].mean()) if bool(loaded.any()) else 0.0,
        max(0.0, -float(corners[..., 1].min())),
        float((heights[standing].min(1) > touch).mean()) if standing.any() else 0.0,
        sum(1 for k, a, b in stances if heights[a:b, k].min() > touch),
        len(stances),
        float(energy.diff().clamp(min=0).sum()) / seconds / float(model.mass.sum()),
    )


def mechanical_energy(rig: Rig, model: Model, motion: Motion) -> Float[Tensor, "intervals"]:
    """Kinetic plus potential energy between neighbouring frames [J]."""
    T = motion.pose(rig)
    S = pseudo_inertia(model).to(T)
    rate = (T[1:] - T[:-1]) * motion.fps
    kinetic = 0.5 * ((rate @ S) * rate).sum((-3, -2, -1))
    height = (((T[1:] + T[:-1]) / 2 @ S)[..., 1, 3]).sum(-1)
    return kinetic - model.gravity[1] * height


def joint_error_deg(rig: Rig, first: Motion, second: Motion) -> float:
    """Mean angle between the local rotations of all joints but the root, over all frames [deg]."""
    angle = rotation_angles(rig, first, second)[:, 1:]
    return float(torch.rad2deg(angle).mean()) if angle.numel() else 0.0
