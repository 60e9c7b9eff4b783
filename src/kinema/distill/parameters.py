"""What is optimised: coefficients of a motion in time, scaled so that one step size suits every joint.

A motion is linear in its coefficients. Three ways to spend them:

- `fourier`: whole cycles of a gait, a constant and some harmonics. Closes by construction, and any stretch of time
  can be looked at, so a window of the prior's length may start at any phase.
- `dct`: the lowest cosines over the clip, for what does not repeat.
- `free`: one value per frame, as in the paper.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

Time = Literal["fourier", "dct", "free"]


@dataclass(frozen=True)
class Basis:
    """How a value in time follows from coefficients."""

    kind: Time
    frames: int
    """Length of the clip (`dct`, `free`)."""
    period: float
    """Frames per cycle (`fourier`)."""
    terms: int

    def table(self, at: Float[Tensor, "times"]) -> Float[Tensor, "times terms"]:
        """Values of the basis functions at frame numbers, which may be fractions.

        Harmonic k is 1/k high, about as in a real gait: the optimiser moves all coefficients equally fast, and the
        noise of its steps would otherwise be loudest in the highest ones.
        """
        if self.kind == "fourier":
            k = torch.arange(1, (self.terms + 1) // 2)
            angle = 2 * torch.pi * at[:, None] / self.period * k
            return torch.cat((torch.ones(len(at), 1), angle.cos() / k, angle.sin() / k), -1)
        if self.kind == "dct":
            k = torch.arange(self.terms)
            return torch.cos(torch.pi * (at[:, None] + 0.5) * k / self.frames)
        # Free: linear interpolation between the frames' own values.
        return (1 - (at[:, None] - torch.arange(self.terms)).abs()).clamp(min=0)


class Coefficients(nn.Module):
    """Coefficients of the angles and of the root's way from its base path."""

    def __init__(self, rig: Rig, limbs: Limbs, basis: Basis, *, velocity: Float[Tensor, "3"]) -> None:
        super().__init__()
        self.rig, self.basis = rig, basis
        joints = len(rig.parents)
        self.angles = nn.Parameter(torch.zeros(basis.terms, joints * 3))
        self.root = nn.Parameter(torch.zeros(basis.terms, 3))
        self.drift = nn.Parameter(torch.zeros(3))
        angle_scale, root_scale = scales(rig, limbs)
        self.angle_scale: Tensor
        self.root_scale: Tensor
        self.velocity: Tensor
        self.register_buffer("angle_scale", angle_scale.flatten())
        self.register_buffer("root_scale", root_scale)
        self.register_buffer("velocity", velocity.clone())

    def start_at(self, angles: Float[Tensor, "joints 3"], joints: list[int]) -> None:
        """Hold these joints at constant angles to begin with."""
        value = torch.zeros_like(self.angle_scale).view(-1, 3)
        value[joints] = angles[joints]
        with torch.no_grad():
            # The first function of the cyclic basis and of the cosines is the constant; `free` has none.
            rows = slice(None) if self.basis.kind == "free" else slice(0, 1)
            self.angles[rows] += value.flatten() / self.angle_scale

    def base_path(self, at: Float[Tensor, "times"]) -> Float[Tensor, "times 3"]:
        """Where the root would be if it slid at constant velocity [m]."""
        return self.rig.heads[0] + at[:, None] * self.velocity

    def motion(self, at: Float[Tensor, "times"], *, fps: float) -> Motion:
        """The motion at given frame numbers."""
        table = self.basis.table(at)
        angles = (table @ self.angles) * self.angle_scale
        way = (table @ self.root) * self.root_scale
        # A speed that differs from the base path's, so that the root is free to go as fast as the feet do.
        way = way + at[:, None] * self.drift * self.velocity.norm()
        return Motion(self.base_path(at) + way, angles.unflatten(-1, (-1, 3)), fps)


def scales(rig: Rig, limbs: Limbs) -> tuple[Float[Tensor, "joints 3"], Float[Tensor, "3"]]:
    """How far each angle [rad] and the root [m] may be expected to go: legs swing, ears do not.

    Anything unnamed stays nearly still, so a rig's tongue and fingers do not absorb what the legs should do.
    """
    scale = torch.full((len(rig.parents), 3), 0.05)
    for part, value in ((limbs.spine, 0.15), (limbs.neck, 0.25), (limbs.tail, 0.25)):
        for joint in part:
            scale[joint] = torch.tensor([value, value, 0.3 * value])
    if limbs.head is not None:
        scale[limbs.head] = torch.tensor([0.2, 0.2, 0.1])
    for arm in limbs.arms:
        for joint in arm.joints:
            scale[joint] = torch.tensor([0.5, 0.25, 0.15])
    for leg in limbs.legs:
        spread = torch.tensor([1.0, 0.12, 0.08]) if len(limbs.legs) <= 4 else torch.tensor([0.6, 0.6, 0.6])
        for place, joint in enumerate(leg.joints):
            # A foot that flaps explains a blurred video as well as a leg that swings; prefer the leg.
            scale[joint] = spread if place < leg.foot else 0.35 * spread
    scale[0] = torch.tensor([0.1, 0.1, 0.15])
    return scale, torch.tensor([0.03, 0.08, 0.05]) * limbs.leg_length
