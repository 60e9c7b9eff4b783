"""Coefficients of joint angles and root in time, scaled so that one step size suits every joint (not in paper mode).

A motion is linear in its coefficients. Three ways to spend them:

- `fourier`: whole cycles of a gait, a constant and some harmonics. Closes by construction, and any stretch of time
  can be looked at, so a window of the prior's length may start at any phase.
- `dct`: the lowest cosines over the clip, for what does not repeat.
- `free`: one value per frame, as in AKD.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from kinema.distill.energies import sole_points, standing_speed
from kinema.distill.parameters import Filmed, fitting_start
from kinema.distill.tempo import Tempo, base_path
from kinema.errors import KinemaError
from kinema.gait.hang import hanging_arms
from kinema.geometry.camera import Cameras
from kinema.motion.motion import Motion
from kinema.render.image import Centers
from kinema.render.points import PointCameras
from kinema.render.stage import Stage
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

Time = Literal["fourier", "dct", "free"]
HARMONICS = 6
"""Harmonics of a gait cycle. A foot that stands moves back at constant speed, which takes six: a true walk that is cut
to four slides by 6 to 10 % of the body's speed, to six by 2 %."""
SOLES_PER_FRAME = 2
"""Times per frame of the prior at which feet are looked at: its nine frames per cycle are too coarse for them."""
ACTION_RATE = 2.0
"""Factor on the learning rate of actions."""
HAND = 0.8
"""Share of an arm's length from which on its joints are fingers."""
SPEED_CHANGE = (-0.6, 0.5)
"""How much slower or faster than told the root may go, as a share of the speed."""


@dataclass(frozen=True)
class Basis:
    """How a value in time follows from coefficients."""

    kind: Time
    frames: int
    """Length of the clip (`dct`, `free`)."""
    period: float
    """Frames per cycle (`fourier`)."""
    terms: int

    @staticmethod
    def of(kind: Literal["auto", "fourier", "dct", "free"], tempo: Tempo, frames: int) -> "Basis":
        """The basis of a kind for a clip; `auto`: whole cycles for gaits, cosines for actions."""
        if kind == "auto":
            kind = "fourier" if tempo.repeats else "dct"
        if kind == "fourier" and not tempo.repeats:
            raise KinemaError(f"--time fourier needs a motion that repeats, and {tempo.motion!r} does not")
        terms = {"fourier": 1 + 2 * HARMONICS, "dct": max(4, frames // 2), "free": frames}[kind]
        return Basis(kind, frames, tempo.cycle, terms)

    def start(self, share: float, frames: int) -> float:
        """When a window of so many frames begins, for a share in [0, 1): anywhere in a cycle, or where it fits."""
        return share * self.period if self.kind == "fourier" else fitting_start(share, self.frames, frames)

    def table(self, at: Float[Tensor, "times"]) -> Float[Tensor, "times terms"]:
        """Values of the basis functions at frame numbers, which may be fractions.

        Harmonic k is 1/k high, about as in a real gait: the optimiser moves all coefficients equally fast, and the
        noise of its steps would otherwise be loudest in the highest ones.
        """
        if self.kind == "fourier":
            k = torch.arange(1, (self.terms + 1) // 2, device=at.device)
            angle = 2 * torch.pi * at[:, None] / self.period * k
            return torch.cat((torch.ones_like(at)[:, None], angle.cos() / k, angle.sin() / k), -1)
        terms = torch.arange(self.terms, device=at.device)
        if self.kind == "dct":
            return torch.cos(torch.pi * (at[:, None] + 0.5) * terms / self.frames)
        return cubic(at, self.terms)


def cubic(at: Float[Tensor, "times"], count: int) -> Float[Tensor, "times terms"]:
    """Catmull and Rom's interpolation of one value per frame, as if the first and last step went on beyond the ends.

    On straight pieces every value would be a kink: a clip at three times the prior's rate jerks, and a simulated body
    that follows it is kicked at each of them.
    """
    x = (at[:, None] - torch.arange(-1, count + 1, device=at.device)).abs()
    near, far = (1.5 * x - 2.5) * x * x + 1, ((2.5 - 0.5 * x) * x - 4) * x + 2
    weights = torch.where(x < 1, near, torch.where(x < 2, far, 0.0))
    beyond = weights.new_tensor([2.0, -1.0])
    table = weights[:, 1:-1].clone()
    table[:, :2] += weights[:, :1] * beyond
    table[:, -2:] += weights[:, -1:] * beyond.flip(0)
    return table


class Coefficients(nn.Module):
    """Coefficients of the angles and of the root's way from its base path (see `MotionParameters`)."""

    def __init__(self, stage: Stage, limbs: Limbs, tempo: Tempo, basis: Basis, *, equal: bool = False) -> None:
        """Parameters at rest, on the stage's device.

        Args:
            equal: AKD's: all joints and axes are equally free, arms start at rest, and the root has no speed of its own
                beside its position in every frame.
        """
        super().__init__()
        self.stage, self.limbs, self.tempo, self.basis, self.frames = stage, limbs, tempo, basis, basis.frames
        heads = stage.rig.heads
        # An action starts from rest and has further to go than a gait from its stride.
        self.learning_rate = 1.0 if tempo.repeats or equal else ACTION_RATE
        self.angles = nn.Parameter(heads.new_zeros(basis.terms, heads.numel()))
        self.root = nn.Parameter(heads.new_zeros(basis.terms, 3))
        self.drift = nn.Parameter(heads.new_zeros(3), requires_grad=not equal)
        self.angle_scale, self.root_scale = torch.ones_like(heads).flatten(), heads.new_ones(3)
        if not equal:
            rig = stage.rig.to(device="cpu")
            angle_scale, root_scale = scales(rig, limbs, acts=not tempo.repeats)
            self.angle_scale, self.root_scale = angle_scale.flatten().to(heads), root_scale.to(heads)
            with torch.no_grad():
                # The first function of the cyclic basis and of the cosines is the constant; `free` has none.
                rows = slice(None) if basis.kind == "free" else slice(0, 1)
                self.angles[rows] += hanging_arms(rig, limbs).to(heads).flatten() / self.angle_scale

    def motion(self, at: Float[Tensor, "times"], *, fps: float) -> Motion:
        table = self.basis.table(at)
        angles = (table @ self.angles) * self.angle_scale
        way = (table @ self.root) * self.root_scale
        # A speed that differs from the base path's, so that the root is free to go as fast as the feet do.
        way = way + at[:, None] * self.drift * abs(self.tempo.speed)
        return Motion(base_path(self.stage.rig, self.tempo, at) + way, angles.unflatten(-1, (-1, 3)), fps)

    def start(self, share: float, frames: int) -> float:
        return self.basis.start(share, frames)

    def film(self, at: Float[Tensor, "frames"], cameras: Cameras | PointCameras) -> Filmed:
        motion = self.motion(at, fps=self.tempo.fps)
        T_world_joint = motion.pose(self.stage.rig)
        soles = film_soles(self.basis, self.limbs, self.soles, at)
        return Filmed(self.stage.film(T_world_joint, cameras), motion=motion, T_world_joint=T_world_joint, **soles)

    def soles(self, at: Float[Tensor, "times"]) -> Float[Tensor, "times ends 3"]:
        """Ends of the feet's soles [m]."""
        return sole_points(self.motion(at, fps=self.tempo.fps).pose(self.stage.rig), self.limbs)

    @torch.no_grad()
    def centers(self, at: Float[Tensor, "frames"]) -> Centers:
        return self.stage.posed(self.motion(at, fps=self.tempo.fps).pose(self.stage.rig)).centers

    @torch.no_grad()
    def amount_of_motion(self, frames: int) -> float:
        """Mean angular travel per frame [rad]: of the legs in a gait, in an action of the joint that moves most."""
        travel = self.motion(self.stage.frame_numbers(frames), fps=1.0).angles.diff(dim=0).abs()
        legs = [j for leg in self.limbs.legs for j in leg.joints]
        if self.tempo.repeats and legs:
            return float(travel[:, legs, 0].mean())
        return float(travel.mean(0).amax())

    @torch.no_grad()
    def match_speed(self) -> None:
        """Make the root as fast as standing feet go back, at once, where the slip's gradient only creeps.

        Strides that came out short then make a slower walk and not one that slides.
        """
        self.drift[2] = matched_drift(self.drift[2], self.soles, self.stage, self.limbs, self.tempo)


def film_soles(basis: Basis, limbs: Limbs, soles: Callable[[Tensor], Tensor], at: Tensor) -> dict[str, Any]:
    """What `Filmed` tells of feet, where there are any: more often than per frame, but for motions told per frame."""
    if not limbs.legs or basis.kind == "free":
        return {"soles": soles(at)} if limbs.legs else {}
    times = at[0] + torch.arange(SOLES_PER_FRAME * len(at)).to(at) / SOLES_PER_FRAME
    return {"soles": soles(times), "soles_per_frame": SOLES_PER_FRAME}


def matched_drift(
    drift: Float[Tensor, ""], soles: Callable[[Tensor], Tensor], stage: Stage, limbs: Limbs, tempo: Tempo
) -> Float[Tensor, ""]:
    """The speed beside the told one, relative to it, with which standing feet stay where they are."""
    told = abs(tempo.speed)
    if not (limbs.legs and tempo.repeats and told):
        return drift
    rate = 2 * SOLES_PER_FRAME
    at = stage.frame_numbers(math.ceil(tempo.period * rate)) / rate
    return (drift - standing_speed(soles(at), limbs.leg_length) * rate / told).clamp(*SPEED_CHANGE)


def scales(rig: Rig, limbs: Limbs, *, acts: bool = False) -> tuple[Float[Tensor, "joints 3"], Float[Tensor, "3"]]:
    """How far each angle [rad] and the root [m] may be expected to go: legs swing, ears do not.

    Anything unnamed stays nearly still, so a rig's tongue and fingers do not absorb what the legs should do. In a gait
    limbs swing forth and back; in an action (`acts`) a body may also turn over, lie down or leap.
    """
    scale = torch.full((len(rig.parents), 3), 0.05)
    twist = 0.6 if acts else 0.3
    for part, value in ((limbs.spine, 0.25 if acts else 0.15), (limbs.neck, 0.3), (limbs.tail, 0.3)):
        scale[list(part)] = torch.tensor([value, value, twist * value])
    if limbs.head is not None:
        scale[limbs.head] = torch.tensor([0.2, 0.2, 0.1])
    for arm in limbs.arms:
        places = rig.heads[list(arm.joints)]
        along = torch.cat((places.new_zeros(1), places.diff(dim=0).norm(dim=-1).cumsum(0)))
        for joint, reach in zip(arm.joints, along.tolist()):
            scale[joint] = 0.7 if reach <= HAND * float(along[-1]) else 0.1
    for leg in limbs.legs:
        spread = torch.tensor([1.0, 0.3, 0.2] if acts else [1.0, 0.12, 0.08])
        spread = spread if len(limbs.legs) <= 4 else torch.tensor([0.6, 0.6, 0.6])
        for place, joint in enumerate(leg.joints):
            # A foot that flaps explains a blurred video as well as a leg that swings; prefer the leg.
            scale[joint] = spread if place < leg.foot else 0.35 * spread
    scale[0] = torch.tensor([0.9, 0.9, 0.9] if acts else [0.1, 0.1, 0.15])
    return scale, torch.tensor([0.45, 0.75, 0.75] if acts else [0.03, 0.08, 0.05]) * limbs.leg_length
