"""Constants, state and control inputs of a simulated articulated body."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.motion.motion import GRAVITY
from kinema.rig.cuboids import Cuboids, contact_corners
from kinema.rig.kinematics import Rig

Dofs = Float[Tensor, "dofs"]
Limits = Float[Tensor, "joints 3 2"]
"""Least and greatest angle of each joint [rad]; the root's are ignored."""


@dataclass(frozen=True)
class HeightField:
    """Uneven ground: a cubic B-spline over x and z with heights as control points; outside, the edge goes on.

    It is twice differentiable, reproduces planes, and stays between the heights around it.
    """

    heights: Float[Tensor, "rows columns"]
    """Heights [m]; rows along x, columns along z."""
    origin: tuple[float, float]
    """x and z of the first height [m]."""
    spacing: float
    """Distance of neighbouring heights [m]."""

    def __post_init__(self) -> None:
        if self.heights.ndim != 2 or not self.heights.numel() or not bool(torch.isfinite(self.heights).all()):
            raise KinemaError(f"physics: a height field of shape {tuple(self.heights.shape)} is empty or not finite")
        if not 0 < self.spacing < float("inf"):
            raise KinemaError(f"physics: a height field cannot have a spacing of {self.spacing} m")


@dataclass(frozen=True)
class Contact:
    """Contact of the cuboids' corners with the ground, y = 0 or a height field."""

    stiffness: float
    """Stiffness of one corner [N/m]; 0 for no ground."""
    damping: float = 5.0
    """Hunt–Crossley: the normal force is multiplied by 1 - damping · (normal velocity) [s/m]. The default is a quarter
    of critical for a body that sinks 1 mm under its weight."""
    ramp: float = 5e-4
    """Depth over which the contact reaches its stiffness [m]."""
    friction: float = 0.9
    slip_speed: float = 0.02
    """Speed below which friction becomes viscous [m/s]."""
    field: HeightField | None = None
    """None: flat ground."""


@dataclass(frozen=True)
class Model:
    """Constants of a simulation. Coordinates are root position, then three angles per joint, as in a `Motion`."""

    parents: tuple[int, ...]
    offsets: Float[Tensor, "joints 3"]
    axes: Float[Tensor, "joints 3 3"]
    mass: Float[Tensor, "joints"]
    """[kg]"""
    com: Float[Tensor, "joints 3"]
    """Centre of mass in the joint frame [m]."""
    inertia: Float[Tensor, "joints 3 3"]
    """About the centre of mass, in the joint frame [kg m²]."""
    corners: Float[Tensor, "joints 8 3"]
    """Points that can touch the ground, in the joint frame [m]."""
    stiffness: Dofs
    """PD gain k_e of every coordinate [N m/rad]; that of the root's roll and pitch is the virtual upright force."""
    damping: Dofs
    """PD gain k_d [N m s/rad]."""
    armature: Dofs
    """Added to the diagonal of the mass matrix, so that weightless bones and gimbals stay regular [kg m²]."""
    lower: Dofs
    """Soft joint limits [rad]; ±inf for none."""
    upper: Dofs
    stop_stiffness: Dofs
    """[N m/rad]"""
    stop_damping: Dofs
    """[N m s/rad]"""
    contact: Contact
    gravity: tuple[float, float, float] = (0.0, -GRAVITY, 0.0)
    """[m/s²]"""
    stop_ramp: float = 0.05
    """Angle over which a stop reaches its stiffness [rad]."""
    most_speed: float = 100.0
    """Limit of every coordinate's speed in the implicit mode, so that it never diverges [rad/s, m/s]."""

    @property
    def dofs(self) -> int:
        return 3 + 3 * len(self.parents)

    def to(self, dtype: torch.dtype) -> "Model":
        return replace(self, **{k: v.to(dtype) for k, v in vars(self).items() if isinstance(v, Tensor)})


@dataclass(frozen=True)
class State:
    """Positions and velocities of all coordinates."""

    q: Float[Tensor, "batch dofs"]
    """Root position [m], then the angles of all joints [rad]."""
    v: Float[Tensor, "batch dofs"]
    """Time derivative of `q`."""


@dataclass(frozen=True)
class Control:
    """Target angles of the PD control; those of the root position have no gain by default."""

    targets: Float[Tensor, "batch knots dofs"]
    """Knots evenly spaced in time, linear in between; with as many knots as steps, one per step."""


@dataclass(frozen=True)
class Gains:
    """Gains relative to mgh = mass · g · root height, so that one setting fits a mouse and a horse."""

    stiffness: float = 10.0
    """k_e of the joints."""
    damping: float = 0.04
    """k_d / k_e of the joints [s]."""
    upright: float = 5.0
    """Virtual force that holds the root's roll and pitch."""
    upright_damping: float = 0.1
    """[s]"""
    heading: float = 0.0
    """Virtual force that holds the root's yaw; the paper has none."""
    stop: float = 20.0
    """Stiffness of the joint limits."""
    sink: float = 1e-3
    """Depth to which four corners sink under the whole weight [m]."""


def make_model(
    rig: Rig, cuboids: Cuboids, *, density: float = 1000.0, gains: Gains | None = None, friction: float = 0.9,
    field: HeightField | None = None, limits: Limits | None = None, dtype: torch.dtype = torch.float64,
) -> Model:  # fmt: skip
    """Make rigid bodies from the bones' cuboids and the volume of mesh that each bone carries.

    `density` is mass per volume of mesh [kg/m³]; the ground is y = 0 without a `field`.
    """
    gains = gains or Gains()
    centers, half = torch.from_numpy(cuboids.centers).double(), torch.from_numpy(cuboids.half_sizes).double()
    volumes = torch.from_numpy(np.asarray(cuboids.volumes)).double()
    if not all(bool(torch.isfinite(x).all()) for x in (centers, half, volumes, rig.heads, rig.axes)):
        raise KinemaError("physics: the rig or its cuboids hold values that are not finite")
    if float(volumes.max()) <= 0:
        raise KinemaError("physics: no bone carries any volume; the mesh encloses nothing")
    size = float((torch.from_numpy(cuboids.corners).double() + rig.heads.double()[:, None]).flatten(0, 1).std(0).norm())
    # Bones without volume still need some inertia; a ten-thousandth of the whole does not change the motion.
    mass = density * volumes.clamp(min=1e-4 * float(volumes.sum()))
    squares, turn = half.clamp(min=5e-3 * size).square(), torch.from_numpy(cuboids.axes).double()
    # A uniform box: I_xx = m (y² + z²) / 3 in half sizes.
    principal = mass[:, None] / 3 * (squares.sum(-1, keepdim=True) - squares)
    inertia = turn @ torch.diag_embed(principal) @ turn.mT
    corners, total = contact_corners(rig, cuboids), float(mass.sum())
    # Height of the root above the lowest corner at rest, at least a tenth of the body's extent [m]
    points = rig.heads.double()[:, None] + corners
    extent = float((points.amax((0, 1)) - points.amin((0, 1))).max())
    mgh = total * GRAVITY * max(float(rig.heads[0, 1]) - float(points[..., 1].min()), 0.1 * extent)
    stiffness, damping = torch.zeros(2, 3 + 3 * len(rig.parents), dtype=torch.float64)
    stiffness[6:], damping[6:] = gains.stiffness * mgh, gains.damping * gains.stiffness * mgh
    root = torch.tensor([gains.heading, gains.upright, gains.upright], dtype=torch.float64)
    stiffness[3:6], damping[3:6] = root * mgh, gains.upright_damping * root * mgh
    armature = torch.full_like(stiffness, 1e-5 * total * size * size)
    armature[:3] = 0
    lower, upper = torch.full_like(stiffness, -torch.inf), torch.full_like(stiffness, torch.inf)
    if limits is not None:
        lower[6:], upper[6:] = limits[1:, :, 0].flatten().double(), limits[1:, :, 1].flatten().double()
    stop = torch.full_like(stiffness, gains.stop * mgh)
    contact = Contact(total * GRAVITY / (4 * gains.sink), friction=friction, field=field)
    return Model(
        parents=rig.parents, offsets=rig.offsets.double(), axes=rig.axes.double(), mass=mass, com=centers,
        inertia=inertia, corners=corners, stiffness=stiffness, damping=damping, armature=armature, lower=lower,
        upper=upper, stop_stiffness=stop, stop_damping=0.03 * stop, contact=contact,
    ).to(dtype)  # fmt: skip
