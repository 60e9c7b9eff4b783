"""A `FootPlan` says where the feet are and how the trunk moves; `solve` turns it into joint angles.

Footholds are fixed points of the world, so a stance foot stands still exactly, whatever the trunk does above it.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float

from kinema.geometry.rotations import bone_offsets, is_below, place_joints
from kinema.motion.motion import Motion
from kinema.rig.ik import LegChains, about, leg_chains, solve_legs
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Leg, Limbs

LEFT, UP, FORWARD = np.eye(3)
Curve = Float[np.ndarray, "frames"]
PerFrame = Curve | float
Path = Float[np.ndarray, "frames 3"]
SWINGING = 0.85
"""Share of a usual leg from hip to ankle: people have 0.88 to 0.98, a figure in large boots 0.67."""


@dataclass(frozen=True)
class GaitBody:
    """A rig with its legs and lengths as planning needs them, measured once."""

    rig: Rig
    limbs: Limbs
    heads: Float[np.ndarray, "joints 3"]
    chains: LegChains | None
    home: Float[np.ndarray, "legs 3"]
    """Contact points at rest, on the ground [m]."""
    pivot: Float[np.ndarray, "3"]
    """The middle of the hips, about which the trunk turns [m]."""

    @property
    def leg(self) -> float:
        """Leg length, the unit of strides [m]."""
        return self.limbs.leg_length

    @property
    def stride(self) -> float:
        """Share of a usual leg's stride that these legs can make: they step shorter where they sprawl, and where feet
        are a large part of them, since what swings is the leg down to the ankle."""
        if self.chains is None:
            return 1.0
        return self._under * min(1.0, float(self.chains.reach.mean()) / (SWINGING * self.leg))

    @property
    def _under(self) -> float:
        """1 for legs that stand under the body, less for sprawling and spread ones."""
        if self.chains is None:
            return 1.0
        ends = self.chains.bones.sum(1)
        sprawl = np.hypot(ends[:, 0], ends[:, 2]) / np.maximum(np.linalg.norm(ends, axis=-1), 1e-9)
        return float(np.clip(1.25 - 0.9 * sprawl.mean(), 0.35, 1.0))

    @property
    def rock(self) -> float:
        """Factor on the trunk's pitch: 1 for square-built bodies, less for long and low ones."""
        length = float(np.ptp(self.home[:, 2])) if len(self.home) else 0.0
        return min(1.0, 1.2 * self.leg / max(length, 1e-9)) ** 1.5

    @property
    def supple(self) -> float:
        """Factor on the yaw of the girdles: sprawling bodies bend like lizards, trunks carried level on two legs are
        stiff like birds'."""
        if len(self.limbs.legs) == 2 and not self.upright:
            return 0.4
        return 3.0 - 2.0 * self._under

    @property
    def upright(self) -> bool:
        """Two legs under a head that is higher than it is ahead: people, not birds and theropods."""
        reach = self.heads[self.limbs.head or 0] - self.heads[0]
        return len(self.limbs.legs) == 2 and bool(reach[1] > 1.2 * abs(reach[2]))

    @property
    def neck(self) -> tuple[int, ...]:
        """Neck and head."""
        return (*self.limbs.neck, *((self.limbs.head,) if self.limbs.head is not None else ()))

    @staticmethod
    def of(rig: Rig, limbs: Limbs) -> "GaitBody":
        heads = rig.heads.detach().double().cpu().numpy()
        if not limbs.legs:
            return GaitBody(rig, limbs, heads, None, np.zeros((0, 3)), heads[0].copy())
        home = np.stack([heads[leg.joints[-1]] + leg.contact for leg in limbs.legs]) * [1, 0, 1]
        pivot = np.mean([heads[leg.joints[0]] for leg in limbs.legs], 0) * [0, 1, 1]
        return GaitBody(rig, limbs, heads, leg_chains(limbs, heads), home, pivot)


@dataclass
class FootPlan:
    """Footholds, trunk and joint rotations of a clip per frame; gaits and actions fill it in."""

    path: Path
    """Position of the body over the ground (y = 0) [m]."""
    heading: Curve
    """Yaw of the path [rad]."""
    contacts: Float[np.ndarray, "legs frames 3"]
    """Contact points in the world [m]."""
    stance: Bool[np.ndarray, "legs frames"]
    foot_yaw: Float[np.ndarray, "legs frames"]
    foot_pitch: Float[np.ndarray, "legs frames"]
    """Heel up, toes down [rad]."""
    toe_pitch: Float[np.ndarray, "legs frames"]
    shift: Path
    """Displacement of the trunk to the left, up and forward [m]."""
    tilt: Path
    """Rotation of the trunk about left (nose down +), up and forward [rad]."""
    turns: dict[int, Float[np.ndarray, "frames 3 3"]] = field(default_factory=dict)
    """Rotations of joints outside the legs, relative to their parents."""

    @staticmethod
    def still(body: GaitBody, frames: int) -> "FootPlan":
        """A body that stands at rest."""
        zero = np.zeros((len(body.home), frames))
        return FootPlan(
            path=np.zeros((frames, 3)), heading=np.zeros(frames), contacts=np.repeat(body.home[:, None], frames, 1),
            stance=np.ones(zero.shape, dtype=bool), foot_yaw=zero.copy(), foot_pitch=zero.copy(),
            toe_pitch=zero.copy(), shift=np.zeros((frames, 3)), tilt=np.zeros((frames, 3)),
        )  # fmt: skip


def bend(
    plan: FootPlan, joints: tuple[int, ...], *, pitch: PerFrame = 0.0, yaw: PerFrame = 0.0, roll: PerFrame = 0.0
) -> None:
    """Share a bend about left (nose down +), up and forward [rad] equally among joints, added to what they do."""
    angles = np.stack([np.broadcast_to(angle, plan.heading.shape) for angle in (pitch, yaw, roll)], -1)
    part = tilt_matrix(angles / max(len(joints), 1))
    for j in joints:
        plan.turns[j] = part @ plan.turns[j] if j in plan.turns else part


def room(body: GaitBody) -> float:
    """Share of a bend of the back that the ground leaves room for: below 1 for bodies that hang low."""
    return min(1.0, 2.0 * body.limbs.clearance / body.leg)


def tilt_matrix(angles: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3 3"]:
    """Ry(up) Rx(left) Rz(forward): yaw outermost."""
    return about(UP, angles[..., 1]) @ about(LEFT, angles[..., 0]) @ about(FORWARD, angles[..., 2])


def solve(body: GaitBody, plan: FootPlan, *, fps: float, crouch: float = 0.0) -> Motion:
    """Joint angles of a plan. The trunk is lowered in all frames as far as the stance legs need to reach.

    Args:
        crouch: lowers the trunk further, in leg lengths, but not to the ground.
    """
    heading = about(UP, plan.heading)
    trunk = heading @ tilt_matrix(plan.tilt)
    shift = plan.shift - [0.0, min(crouch * body.leg, 0.45 * body.limbs.clearance), 0.0]
    arm = (trunk @ (body.heads[0] - body.pivot)[:, None])[..., 0]
    root = plan.path + (heading @ (body.pivot * [0, 1, 0] + shift)[..., None])[..., 0] + arm
    # The path carries the pivot's place at rest, so a still plan is the rest pose.
    return stand(body, plan, trunk, root + body.pivot * [1, 0, 1], fps=fps)


def stand(body: GaitBody, plan: FootPlan, trunk: Float[np.ndarray, "frames 3 3"], root: Path, *, fps: float) -> Motion:
    """Pose the joints as planned, joint 0 turned by `trunk` and at `root` [m], and put the feet on their contacts."""
    parents = body.rig.parents
    rotations = np.tile(np.eye(3), (len(parents), len(root), 1, 1))
    for j, turn in plan.turns.items():
        rotations[j] = turn
    rotations[0] = trunk
    if body.chains is not None:
        position, orientation = _place(body, rotations, root)
        tops = [leg.joints[0] for leg in body.limbs.legs]
        hips, R_world_parent = position[:, tops], orientation[:, [parents[j] for j in tops]]
        hips, R_world_parent = hips.swapaxes(0, 1), R_world_parent.swapaxes(0, 1)
        feet, ankles = _ankles(body, plan)
        drop = _drop(body.chains, ankles - hips, plan.stance)[:, None] * UP
        root, hips = root - drop, hips - drop
        inward = np.swapaxes(R_world_parent, -1, -2)
        hip, hinges = solve_legs(body.chains, (inward @ (ankles - hips)[..., None])[..., 0])
        for i, leg in enumerate(body.limbs.legs):
            rotations[leg.joints[0]] = hip[i]
            world = R_world_parent[i] @ hip[i]
            for k in range(1, min(leg.foot, len(leg.joints))):
                rotations[leg.joints[k]] = turn = about(body.chains.axes[i, k - 1], hinges[i, :, k - 1])
                world = world @ turn
            for j, wanted in zip(leg.joints[leg.foot :], feet[i]):
                rotations[j] = world.swapaxes(-1, -2) @ wanted
                world = wanted
    _keep_up(body, rotations, root)
    # Angles about the rig's axes, unwrapped in time. Middle angles stay within ±90 degrees.
    axes = body.rig.axes.detach().double().cpu().numpy()[:, None]
    m = (axes.swapaxes(-1, -2) @ rotations @ axes).swapaxes(0, 1)
    b = np.arcsin(np.clip(m[..., 0, 2], -1, 1))
    a = np.unwrap(np.arctan2(-m[..., 1, 2], m[..., 2, 2]), axis=0)
    c = np.unwrap(np.arctan2(-m[..., 0, 1], m[..., 0, 0]), axis=0)
    position, angles = (torch.from_numpy(x).to(body.rig.heads) for x in (root, np.stack((a, b, c), -1)))
    return Motion(position, angles, fps)


def _keep_up(body: GaitBody, rotations: np.ndarray, root: Path) -> None:
    """Raise tail, neck and head where their flesh would go into the ground; changes their rotations."""
    for chain, away in ((body.limbs.tail, -1.0), (body.neck, 1.0)):
        below = descendants(body.rig.parents, chain[0]) if chain else []
        for _ in range(3 if chain else 0):
            position, orientation = _place(body, rotations, root)
            flesh = (orientation[:, below, None] @ body.limbs.probes[below][..., None])[..., 0]
            flesh += position[:, below, None]
            arm = flesh - position[:, chain[0], None, None]
            # A rotation of the chain's root by depth / distance lifts the point out.
            angle = np.maximum(-flesh[..., 1], 0.0) / np.maximum(np.hypot(arm[..., 0], arm[..., 2]), 0.1 * body.leg)
            lack = angle.max((1, 2))
            if lack.max() < 1e-4:
                break
            raised = about(LEFT, -away * np.minimum(lack, 0.8) * 1.1 / min(len(chain), 2))
            for j in chain[:2]:
                rotations[j] = raised @ rotations[j]


def _place(body: GaitBody, rotations: np.ndarray, root: Path) -> tuple[np.ndarray, np.ndarray]:
    """World positions [frames, joints, 3] and orientations of all joints."""
    parents = body.rig.parents
    return place_joints(parents, bone_offsets(parents, body.heads), rotations.swapaxes(0, 1), root)


def descendants(parents: tuple[int, ...], top: int) -> list[int]:
    """The joint and all below it, parents before children."""
    return [k for k in range(len(parents)) if is_below(parents, k, top)]


def _ankles(body: GaitBody, plan: FootPlan) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """World orientations of the foot's joints (foot, toes) and the end points of the bending chains."""
    yaw = about(UP, plan.foot_yaw)
    foot = yaw @ about(LEFT, plan.foot_pitch)
    toe = yaw @ about(LEFT, plan.toe_pitch)
    feet, ankles = [], plan.contacts.copy()
    for i, leg in enumerate(body.limbs.legs):
        below = leg.joints[leg.foot :]
        # The last joint carries the sole and stays flat; a joint before it lifts the heel.
        turns = [foot[i]] * (len(below) - 1) + [toe[i] if len(below) > 1 else foot[i]] if below else []
        feet.append(turns)
        if below:
            ankles[i] -= (turns[-1] @ leg.contact[:, None])[..., 0]
            for k in range(len(below) - 1):
                bone = body.heads[below[k + 1]] - body.heads[below[k]]
                ankles[i] -= (turns[k] @ bone[:, None])[..., 0]
    return feet, ankles


def sole_dip(plan: FootPlan, i: int, leg: Leg) -> Curve:
    """How far an end of the sole of leg i dips below its contact point as the foot pitches [m]; 0 or negative."""
    pitch = plan.toe_pitch[i] if len(leg.joints) - leg.foot > 1 else plan.foot_pitch[i]
    arms = leg.soles - leg.contact
    return np.minimum((np.cos(pitch)[:, None] * arms[:, 1] - np.sin(pitch)[:, None] * arms[:, 2]).min(-1), 0.0)


def _drop(chains: LegChains, legs: Float[np.ndarray, "legs frames 3"], stance: np.ndarray) -> Curve:
    """Distance by which the trunk must come down so that every stance leg reaches its foothold [m].

    The same in all frames, but a body on stiff legs of one bone vaults over them.
    """
    reach = chains.reach[:, None] * 0.997
    across = np.minimum((legs[..., [0, 2]] ** 2).sum(-1), 0.9 * reach**2)
    needed = np.maximum(np.where(stance, -legs[..., 1] - np.sqrt(reach**2 - across), 0.0), 0.0).max(0)
    return needed if chains.bones.shape[1] == 1 else np.full_like(needed, needed.max(initial=0.0))
