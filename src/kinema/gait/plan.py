"""A `FootPlan` says where the feet are and how the trunk moves; `solve` turns it into joint angles.

Footholds are fixed points of the world, so a stance foot stands still exactly, whatever the trunk does above it.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float

from kinema.motion.motion import Motion
from kinema.rig.ik import LegChains, about, leg_chains, solve_legs
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

LEFT, UP, FORWARD = np.eye(3)
PerFrame = Float[np.ndarray, "frames"] | float


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
    ancestors: tuple[int, ...]
    """Joints above the hips, root first."""

    @property
    def leg(self) -> float:
        """Leg length, the unit of strides [m]."""
        return self.limbs.leg_length

    @property
    def stride(self) -> float:
        """Share of an upright leg's stride that these legs can make: sprawling and spread legs step shorter."""
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
    def neck(self) -> tuple[int, ...]:
        """Neck and head."""
        return (*self.limbs.neck, *((self.limbs.head,) if self.limbs.head is not None else ()))

    @staticmethod
    def of(rig: Rig, limbs: Limbs) -> "GaitBody":
        heads = rig.heads.detach().double().cpu().numpy()
        above = {0}.union(*(_ancestors(rig.parents, leg.joints[0]) for leg in limbs.legs))
        if limbs.legs:
            home = np.stack([heads[leg.joints[-1]] + leg.contact for leg in limbs.legs]) * [1, 0, 1]
            pivot = np.mean([heads[leg.joints[0]] for leg in limbs.legs], 0)
            pivot[0] = 0.0
        else:
            home, pivot = np.zeros((0, 3)), heads[0].copy()
        chains = leg_chains(limbs, heads) if limbs.legs else None
        return GaitBody(rig, limbs, heads, chains, home, pivot, tuple(sorted(above)))


@dataclass
class FootPlan:
    """Footholds, trunk and joint rotations of a clip per frame; gaits and actions fill it in."""

    path: Float[np.ndarray, "frames 3"]
    """Position of the body over the ground (y = 0) [m]."""
    heading: Float[np.ndarray, "frames"]
    """Yaw of the path [rad]."""
    contacts: Float[np.ndarray, "legs frames 3"]
    """Contact points in the world [m]."""
    stance: Bool[np.ndarray, "legs frames"]
    foot_yaw: Float[np.ndarray, "legs frames"]
    foot_pitch: Float[np.ndarray, "legs frames"]
    """Heel up, toes down [rad]."""
    toe_pitch: Float[np.ndarray, "legs frames"]
    shift: Float[np.ndarray, "frames 3"]
    """Displacement of the trunk to the left, up and forward [m]."""
    tilt: Float[np.ndarray, "frames 3"]
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
    if not joints:
        return
    angles = np.stack([np.broadcast_to(angle, plan.heading.shape) for angle in (pitch, yaw, roll)], -1)
    part = tilt_matrix(angles / len(joints))
    for j in joints:
        plan.turns[j] = part @ plan.turns[j] if j in plan.turns else part


def tilt_matrix(angles: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3 3"]:
    """Ry(up) Rx(left) Rz(forward): yaw outermost."""
    return about(UP, angles[..., 1]) @ about(LEFT, angles[..., 0]) @ about(FORWARD, angles[..., 2])


def solve(body: GaitBody, plan: FootPlan, *, fps: float, crouch: float = 0.0) -> Motion:
    """Joint angles of a plan. The trunk is lowered in all frames as far as the stance legs need to reach.

    Args:
        crouch: lowers the trunk further, in leg lengths, but not to the ground.
    """
    rotations = np.tile(np.eye(3), (len(body.rig.parents), len(plan.path), 1, 1))
    for j, turn in plan.turns.items():
        rotations[j] = turn
    heading = about(UP, plan.heading)
    rotations[0] = heading @ tilt_matrix(plan.tilt)
    shift = plan.shift - [0.0, min(crouch * body.leg, 0.45 * body.limbs.clearance), 0.0]
    arm = ((rotations[0]) @ (body.heads[0] - body.pivot)[:, None])[..., 0]
    root = plan.path + (heading @ (body.pivot * [0, 1, 0] + shift)[..., None])[..., 0] + arm
    # The path carries the pivot's place at rest, so a still plan is the rest pose.
    root = root + body.pivot * [1, 0, 1]
    return stand(body, plan, rotations, root, fps=fps)


def stand(
    body: GaitBody, plan: FootPlan, rotations: Float[np.ndarray, "joints frames 3 3"],
    root: Float[np.ndarray, "frames 3"], *, fps: float,
) -> Motion:  # fmt: skip
    """Put the legs of a posed trunk on the plan's contacts; `rotations` and `root` are changed."""
    if body.chains is not None:
        hips, R_world_parent = _hips(body, rotations, root)
        feet, ankles = _ankles(body, plan)
        drop = _drop(body.chains, ankles - hips, plan.stance)
        root[:, 1] -= drop
        hips[..., 1] -= drop
        inward = np.swapaxes(R_world_parent, -1, -2)
        hip, hinges = solve_legs(body.chains, (inward @ (ankles - hips)[..., None])[..., 0])
        for i, leg in enumerate(body.limbs.legs):
            rotations[leg.joints[0]] = hip[i]
            world = R_world_parent[i] @ hip[i]
            for k in range(1, min(leg.foot, len(leg.joints))):
                turn = about(body.chains.axes[i, k - 1], hinges[i, :, k - 1])
                rotations[leg.joints[k]] = turn
                world = world @ turn
            for k in range(leg.foot, len(leg.joints)):
                wanted = feet[i][k - leg.foot]
                rotations[leg.joints[k]] = world.swapaxes(-1, -2) @ wanted
                world = wanted
    _keep_up(body, rotations, root)
    return Motion(_tensor(root, body.rig), _angles(body.rig, rotations), fps)


def _keep_up(body: GaitBody, rotations: np.ndarray, root: np.ndarray) -> None:
    """Raise tail, neck and head where their flesh would go into the ground; changes their rotations."""
    parents = body.rig.parents
    for chain, away in ((body.limbs.tail, -1.0), (body.neck, 1.0)):
        if not chain:
            continue
        below = descendants(parents, chain[0])
        for _ in range(3):
            places, turns = _forward(body, rotations, root, (*_ancestors(parents, chain[0]), *below))
            lack = np.zeros(len(root))
            for k in below:
                probes = (turns[k][:, None] @ body.limbs.probes[k][..., None])[..., 0] + places[k][:, None]
                out = np.hypot(*(probes - places[chain[0]][:, None])[..., [0, 2]].transpose(2, 0, 1))
                # A rotation of the chain's root by depth / distance lifts the point out.
                angle = np.maximum(-probes[..., 1], 0.0) / np.maximum(out, 0.1 * body.leg)
                lack = np.maximum(lack, angle.max(-1))
            if lack.max() < 1e-4:
                break
            raised = about(LEFT, -away * np.minimum(lack, 0.8) * 1.1 / min(len(chain), 2))
            for j in chain[:2]:
                rotations[j] = raised @ rotations[j]


def _forward(
    body: GaitBody, rotations: np.ndarray, root: np.ndarray, joints: tuple[int, ...]
) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """World positions and orientations of the root and of `joints`, parents before children."""
    position, orientation = {0: root}, {0: rotations[0]}
    for j in joints:
        p = body.rig.parents[j]
        position[j] = position[p] + (orientation[p] @ (body.heads[j] - body.heads[p])[:, None])[..., 0]
        orientation[j] = orientation[p] @ rotations[j]
    return position, orientation


def _ancestors(parents: tuple[int, ...], j: int) -> tuple[int, ...]:
    """Joints above j, topmost first, without the root."""
    above = []
    while (j := parents[j]) > 0:
        above.append(j)
    return tuple(above[::-1])


def descendants(parents: tuple[int, ...], top: int) -> list[int]:
    """The joint and all below it, parents before children."""
    found = [top]
    for k in range(top + 1, len(parents)):
        if parents[k] in found:
            found.append(k)
    return found


def _hips(body: GaitBody, rotations: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """World position of each hip and orientation of its parent."""
    hips = tuple(leg.joints[0] for leg in body.limbs.legs)
    position, orientation = _forward(body, rotations, root, (*body.ancestors[1:], *hips))
    return np.stack([position[j] for j in hips]), np.stack([orientation[body.rig.parents[j]] for j in hips])


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


def _drop(chains: LegChains, legs: Float[np.ndarray, "legs frames 3"], stance: np.ndarray) -> float:
    """Distance by which the trunk must come down so that every stance leg reaches its foothold [m]."""
    reach = chains.reach[:, None] * 0.997
    across = np.minimum((legs[..., [0, 2]] ** 2).sum(-1), 0.9 * reach**2)
    needed = -legs[..., 1] - np.sqrt(reach**2 - across)
    return float(np.maximum(np.where(stance, needed, 0.0), 0.0).max(initial=0.0))


def _angles(rig: Rig, rotations: Float[np.ndarray, "joints frames 3 3"]) -> torch.Tensor:
    """Angles about the rig's axes, unwrapped in time. Middle angles stay within ±90 degrees."""
    axes = rig.axes.detach().double().cpu().numpy()[:, None]
    m = axes.swapaxes(-1, -2) @ rotations @ axes
    b = np.arcsin(np.clip(m[..., 0, 2], -1, 1))
    a = np.unwrap(np.arctan2(-m[..., 1, 2], m[..., 2, 2]), axis=1)
    c = np.unwrap(np.arctan2(-m[..., 0, 1], m[..., 0, 0]), axis=1)
    return _tensor(np.stack((a, b, c), -1).swapaxes(0, 1), rig)


def _tensor(values: np.ndarray, rig: Rig) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(rig.heads)
