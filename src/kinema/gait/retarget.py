"""Carry recordings over to other bodies with as many legs.

Displacements from rest are scaled by leg length, trunk, neck and tail take over rotations, arms their directions, and
the legs are solved anew, so that feet which stood on the source stand on the target, exactly.
"""

from itertools import pairwise

import numpy as np
from jaxtyping import Bool

from kinema.gait.arms import hang_arm, point_arm
from kinema.gait.plan import UP, FootPlan, GaitBody, Path, sole_dip, stand
from kinema.gait.recording import Recording
from kinema.geometry.rotations import ancestors, runs
from kinema.motion.feet import find_stance, track_feet
from kinema.motion.motion import Motion
from kinema.rig.ik import about
from kinema.rig.limbs import Arm

MIRROR = np.diag([-1.0, 1.0, 1.0])


def retarget(
    recording: Recording, target: GaitBody, *, frames: int, fps: float, start: float = 0.0, tempo: float = 1.0,
    mirror: bool = False,
) -> Motion:  # fmt: skip
    """The recording on another body; joints that slide on the source only turn here.

    Args:
        start: where in the recording frame 0 is [s]; a clip that loops may be entered anywhere.
        tempo: plays it faster than it was recorded.
        mirror: left for right.
    """
    source, times = recording.body, start + tempo * np.arange(frames) / fps
    played = recording.at(times, fps=fps)
    stance = find_stance(track_feet(source.rig, source.limbs, played))
    pose = played.pose(source.rig).double().numpy()
    rotation, position = pose[..., :3], pose[..., 3]
    # Begin at rest's place, facing +Z.
    back = about(UP, np.asarray(-recording.heading))
    rotation = back @ rotation
    position = (position - recording.origin(start)) @ back.T + source.heads[0] * [1, 0, 1]
    if recording.in_place:
        position[..., 2] += (recording.speed * (times - times[0]))[:, None]
    plan, scale, sides = FootPlan.still(target, frames), target.leg / source.leg, -1 if mirror else 1
    if mirror:
        rotation, position = MIRROR @ rotation @ MIRROR, position @ MIRROR
    _step_alike(recording, target, plan, stance, rotation, position, scale, sides)
    _trunk_alike(source, target, rotation, position, plan, sides)
    # Trunks turn about the joint that carries the legs; a root below it, as some files have, only follows.
    theirs, ours = _carrier(source), _carrier(target)
    there = target.heads[ours] + scale * (position[:, theirs] - source.heads[theirs] * [sides, 1, 1])
    trunk = rotation[:, theirs]
    root = there - (trunk @ (target.heads[ours] - target.heads[0])[:, None])[..., 0]
    return stand(target, plan, trunk, root, fps=fps)


def _carrier(body: GaitBody) -> int:
    """The joint that all legs hang on."""
    above = [ancestors(body.rig.parents, leg.joints[0]) for leg in body.limbs.legs]
    return next((joint for joint in above[0] if all(joint in others for others in above)), 0) if above else 0


def _step_alike(
    recording: Recording, target: GaitBody, plan: FootPlan, stance: np.ndarray, rotation: np.ndarray,
    position: np.ndarray, scale: float, sides: int,
) -> None:  # fmt: skip
    """Contacts of the target: the source's displacements from rest, scaled, with every stance nailed down."""
    source, flip = recording.body, np.array([sides, 1, 1])
    for i, leg in enumerate(target.limbs.legs):
        alike = (leg.rank, sides * leg.side)
        k, like = next((k, g) for k, g in enumerate(source.limbs.legs) if (g.rank, g.side) == alike)
        end, foot = like.joints[-1], like.joints[min(like.foot, len(like.joints) - 1)]
        track = (rotation[:, end] @ (like.contact * flip)) + position[:, end]
        contact = target.home[i] + scale * (track - source.home[k] * flip)
        contact[:, 1] = scale * (track[:, 1] - recording.floors[k])
        forward, toes = rotation[:, foot, :, 2], rotation[:, end, :, 2]
        yaw, pitch = np.unwrap(np.arctan2(forward[:, 0], forward[:, 2])), -np.arcsin(np.clip(forward[:, 1], -1, 1))
        standing = stance[:, k]
        contact = nail(contact, standing)
        plan.stance[i], plan.foot_yaw[i] = standing, yaw
        plan.foot_pitch[i] = np.where(standing, np.maximum(pitch, 0.0), pitch)
        plan.toe_pitch[i] = np.where(standing, 0.0, -np.arcsin(np.clip(toes[:, 1], -1, 1)))
        if leg.foot < len(leg.joints):
            contact[:, 1] = np.where(standing, 0.0, np.maximum(contact[:, 1], -sole_dip(plan, i, leg)))
        plan.contacts[i] = contact


def nail(contact: Path, standing: Bool[np.ndarray, "frames"]) -> Path:
    """Hold each stance at its mean place on the ground; swings take over the corrections of their neighbours."""
    if not standing.any():
        return contact
    fixed, frames, at = contact.copy(), np.arange(len(contact)), np.flatnonzero(standing)
    for start, stop in runs(standing):
        fixed[start:stop] = contact[start:stop].mean(0) * [1, 0, 1]
    result = contact + np.stack([np.interp(frames, at, (fixed - contact)[at, k]) for k in range(3)], -1)
    result[:, 1] = np.maximum(result[:, 1], 0.0)
    result[standing] = fixed[standing]
    return result


def _trunk_alike(
    source: GaitBody, target: GaitBody, rotation: np.ndarray, position: np.ndarray, plan: FootPlan, sides: int
) -> None:
    """Spine, neck with head, and tail bend as they do on the source; arms point the same ways, wings beat alike."""
    for ours, theirs in zip(_chains(target), _chains(source)):
        _bend_alike(source, rotation, plan, ours, theirs)
    still = np.zeros(len(rotation))
    for arm in target.limbs.arms:
        like = next((a for a in source.limbs.arms if (a.side, a.kind) == (sides * arm.side, arm.kind)), None)
        if like is None or (arm.wing and not _rest_alike(source, target, like, arm, sides)):
            hang_arm(target, plan, arm, swing=still, spread=still, elbow=0.2)
        elif arm.wing:
            _bend_alike(source, rotation, plan, arm.joints, like.joints)
        else:
            point_arm(target, plan, arm, *_arm_aims(source, like, rotation, position, sides))


def _chains(body: GaitBody) -> tuple[tuple[int, ...], ...]:
    """Spine above the joint that carries the legs, neck with head, and tail."""
    carrier = _carrier(body)
    below = {carrier, *ancestors(body.rig.parents, carrier)}
    return tuple(joint for joint in body.limbs.spine if joint not in below), body.neck, body.limbs.tail


def _bend_alike(
    source: GaitBody, rotation: np.ndarray, plan: FootPlan, ours: tuple[int, ...], theirs: tuple[int, ...]
) -> None:
    """Turn a chain of joints as another one: each as the joint that is as far along."""
    if not ours or not theirs:
        return
    base = rotation[:, max(source.rig.parents[theirs[0]], 0)].swapaxes(-1, -2)
    before = np.broadcast_to(np.eye(3), (len(rotation), 3, 3))
    for i, joint in enumerate(ours):
        like = theirs[min(round((i + 1) / len(ours) * len(theirs)) - 1, len(theirs) - 1)] if i else theirs[0]
        like = theirs[-1] if i == len(ours) - 1 else like
        now = base @ rotation[:, like]
        plan.turns[joint] = before.swapaxes(-1, -2) @ now
        before = now


def _rest_alike(source: GaitBody, target: GaitBody, theirs: Arm, ours: Arm, sides: int) -> bool:
    """Do two wings point the same way at rest? A folded one is not beaten as a spread one."""
    one, other = (body.heads[w.joints[-1]] - body.heads[w.joints[0]] for body, w in ((source, theirs), (target, ours)))
    return float(one * [sides, 1, 1] @ other) > 0.7 * float(np.linalg.norm(one) * np.linalg.norm(other))


def _arm_aims(source: GaitBody, arm: Arm, rotation: np.ndarray, position: np.ndarray, sides: int) -> tuple[Path, Path]:
    """Directions of upper arm and forearm in the chest's frame; an arm of one bone has one."""
    joints = list(arm.joints[1:4] if len(arm.joints) > 3 else arm.joints)
    chest = rotation[:, max(source.rig.parents[joints[0]], 0)].swapaxes(-1, -2)
    tip = position[:, joints[-1]] + rotation[:, joints[-1]] @ (source.limbs.probes[joints[-1], 2] * [sides, 1, 1])
    points = [*(position[:, joint] for joint in joints), *([tip] if len(joints) < 3 else [])]
    aims = [(chest @ (end - begin)[..., None])[..., 0] for begin, end in pairwise(points)]
    return aims[0], aims[min(1, len(aims) - 1)]
