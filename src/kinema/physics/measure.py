"""Report of how a motion stands on the ground: the same for what goes into the tracker and what comes out."""

from dataclasses import dataclass, replace

import numpy as np

from kinema.motion.carry import stances
from kinema.motion.feet import contact_paths
from kinema.motion.motion import Motion, rotation_angles
from kinema.motion.plant import Stance, corner_paths
from kinema.physics.model import Model
from kinema.physics.twin import pseudo_inertia
from kinema.rig.cuboids import Cuboids
from kinema.rig.ik import Effector
from kinema.rig.kinematics import Rig

TOUCH = 0.01
"""Height below which a foot is on the ground [m]."""


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

    def at_size(self, growth: float) -> "GroundReport":
        """Of a body so many times as large that moves alike."""
        rate = growth**0.5  # of speeds, and of power per mass
        speeds = {name: getattr(self, name) * rate for name in ("stance_speed", "body_speed", "loaded_slip", "power")}
        return replace(self, depth=self.depth * growth, **speeds)


def ground_report(
    rig: Rig, cuboids: Cuboids, model: Model, feet: tuple[Effector, ...], motion: Motion, stance: Stance
) -> GroundReport:
    """Measure a motion in float64; `stance` is that of the target, the same before and after tracking."""
    corners, T = corner_paths(rig, cuboids, motion), motion.pose(rig)
    heights, velocities = contact_paths(feet, T, fps=motion.fps)
    both = stance[1:] & stance[:-1]
    speed = np.linalg.norm(velocities[..., [0, 2]], axis=-1)
    slide = (corners.diff(dim=0) * motion.fps)[..., [0, 2]].norm(dim=-1)
    loaded = (corners[1:, ..., 1] < 0.005) & (corners[:-1, ..., 1] < 0.005)
    root = motion.root_position.diff(dim=0)[:, [0, 2]].norm(dim=-1) * motion.fps
    standing = stance.any(1)
    # Kinetic plus potential energy between neighbouring frames [J]
    S, rate = pseudo_inertia(model).to(T), T.diff(dim=0) * motion.fps
    height = (((T[1:] + T[:-1]) / 2 @ S)[..., 1, 3]).sum(-1)
    energy = 0.5 * ((rate @ S) * rate).sum((-3, -2, -1)) - model.gravity[1] * height
    seconds = max(len(energy) - 1, 1) / motion.fps
    return GroundReport(
        float(speed[both].mean()) if both.any() else 0.0,
        float(root.mean()) if len(root) else 0.0,
        float(slide[loaded].mean()) if bool(loaded.any()) else 0.0,
        max(0.0, -float(corners[..., 1].min())),
        float((heights[standing].min(1) > TOUCH).mean()) if standing.any() else 0.0,
        sum(bool(heights[a:b, k].min() > TOUCH) for k, a, b in stances(stance)),
        len(stances(stance)),
        float(energy.diff().clamp(min=0).sum()) / seconds / float(model.mass.sum()),
    )


def joint_error_deg(rig: Rig, first: Motion, second: Motion) -> float:
    """Mean angle between the local rotations of all joints but the root, over all frames [deg]."""
    angle = rotation_angles(rig, first, second)[:, 1:]
    return float(angle.rad2deg().mean()) if angle.numel() else 0.0
