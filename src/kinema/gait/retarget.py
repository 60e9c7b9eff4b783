"""Clips as they were recorded (artists' clips, motion capture), played on their own body or carried over to others.

Displacements from rest are scaled by leg length, trunk, neck and tail take over rotations, arms their directions, and
the legs are solved anew, so that feet which stood on the source stand on the target, exactly.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float

from kinema.gait.arms import hang_arm, point_arm
from kinema.gait.beat import find_beat
from kinema.gait.clip_names import CYCLES, STATES
from kinema.gait.kinds import MotionKind
from kinema.gait.make import action_span
from kinema.gait.motions import MOTIONS
from kinema.gait.plan import UP, FootPlan, GaitBody, Path, sole_dip, stand
from kinema.geometry.rotations import runs
from kinema.motion.feet import find_stance, ground_speed, track_feet
from kinema.motion.loop import cut_cycle, without_stills
from kinema.motion.motion import Motion
from kinema.rig.ik import about

MIRROR = np.diag([-1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Recording:
    """A clip with what it shows and when."""

    name: str
    body: GaitBody
    motion: Motion
    repeats: bool
    begin: float
    """When a cycle, or the action, begins [s] (`Label.phase` is 0)."""
    begin_mirrored: float
    """The same of the mirror image."""
    period: float
    """Duration of a cycle or of the whole action [s]; 0: a state."""
    explained: float
    """Share of the movement that repeats, of a cycle; else 1."""
    speed: float
    """Speed ahead [m/s]: of a gait as the feet tell it, else as the body goes."""
    in_place: bool
    """The body stays while the feet walk: it is to be moved at `speed`."""
    loops: bool
    heading: float
    """Where the body faces as it begins, in a cycle on the whole [rad]."""
    side: int
    """The side whose arms (without arms, front legs) move more."""
    lead: float
    """On four legs, how long after the left the right front foot touches down [cycles, -0.5 to 0.5]; else 0."""
    held: bool = False
    """It shows nothing but the end of an action: somebody sits."""
    wording: str = ""

    @staticmethod
    def of(
        kind: MotionKind | str,
        body: GaitBody,
        motion: Motion,
        *,
        wording: str = "",
        held: bool = False,
        heading: float | None = None,
    ) -> "Recording":
        """Measure a clip of a motion.

        Args:
            wording: its own verb phrase.
            held: it shows nothing but the end of the action.
            heading: where it faces [rad]; None finds it.
        """
        name = kind if isinstance(kind, str) else kind.name
        row = MOTIONS.get(kind) if isinstance(kind, str) else kind
        gait = row.gait if row else None
        state = held or name in STATES
        motion = motion if state else without_stills(motion)
        repeats, begin, mirrored, period, explained = False, 0.0, 0.0, 0.0, 1.0
        if gait is not None or name in CYCLES:
            duty = gait.duty if gait else 0.5
            beat = find_beat(body, motion, name, duty=duty)
            if beat.explained > 0.7 and not track_feet(body.rig, body.limbs, motion).loops:
                motion = cut_cycle(motion, beat.period, times=1)
                beat = find_beat(body, motion, name, duty=duty)
            repeats, explained = True, beat.explained
            begin, mirrored, period = (x / motion.fps for x in (beat.begin, beat.begin_mirrored, beat.period))
        feet = track_feet(body.rig, body.limbs, motion)
        if not repeats and not state:
            first, last = action_span(motion.pose(body.rig)[..., 3].double().cpu().numpy())
            begin, period = first / motion.fps, (last - first) / motion.fps
            mirrored = begin
        away = feet.body[-1] - feet.body[0]
        travelled = float(np.hypot(away[0], away[2])) * motion.fps / max(len(motion) - 1, 1)
        speed = ground_speed(feet, find_stance(feet)) if repeats and body.limbs.legs else 0.0
        in_place = travelled < 0.25 * speed
        heading = facing(body, motion, begin=None if repeats or state else begin) if heading is None else heading
        if not repeats:
            speed = float(away[0] * np.sin(heading) + away[2] * np.cos(heading)) * motion.fps / max(len(motion) - 1, 1)
            speed = speed if abs(speed) > 0.15 * body.leg else 0.0
        # What happens once is not played twice, even if it ends as it began.
        loops = feet.loops and (repeats or state)
        four = repeats and len(body.limbs.legs) == 4
        lead = ((mirrored - begin) / period + 0.5) % 1.0 - 0.5 if four and period > 0 else 0.0
        return Recording(
            name, body, motion, repeats, begin, mirrored, period, explained, speed, in_place, loops, heading,
            _side(body, motion), lead, held, wording,
        )  # fmt: skip

    def phase(self, at: float, *, mirror: bool = False) -> float:
        """`Label.phase` of a time [s]."""
        if self.period <= 0:
            return 0.0
        phase = (at - (self.begin_mirrored if mirror else self.begin)) / self.period
        return phase % 1.0 if self.repeats else phase

    def at(self, times: Float[np.ndarray, "frames"], *, fps: float) -> Motion:
        """The clip at these times [s], as it was recorded; a loop goes on, with the way of each round added."""
        motion, last = self.motion, len(self.motion) - 1
        at = times * motion.fps
        rounds = np.floor(at / last) if self.loops else np.zeros_like(at)
        played = motion.at(torch.from_numpy(np.clip(at - rounds * last, 0, last)))
        way = (motion.root_position[-1] - motion.root_position[0]) * torch.tensor([1.0, 0.0, 1.0]).to(motion.angles)
        root = played.root_position + torch.from_numpy(rounds).to(motion.angles)[:, None] * way
        return replace(played, root_position=root, fps=fps)

    def origin(self, start: float) -> Float[np.ndarray, "3"]:
        """Where the body comes from, over the ground: an action from where it begins, else from the start [m]."""
        begins = self.period > 0 and not self.repeats
        at = self.at(np.array([self.begin if begins else start]), fps=1.0)
        return at.root_position[0].double().numpy() * [1, 0, 1]

    def play(self, *, frames: int, fps: float, start: float = 0.0, tempo: float = 1.0) -> Motion:
        """The clip on its own body, all joints as recorded, facing +Z; see `retarget`."""
        times = start + tempo * np.arange(frames) / fps
        played = self.at(times, fps=fps)
        root, angles = played.root_position, played.angles.clone()
        back = torch.from_numpy(about(UP, np.asarray(-self.heading))).to(root)
        root = (root - torch.from_numpy(self.origin(start)).to(root)) @ back.mT
        root = root + self.body.rig.heads[0] * torch.tensor([1.0, 0.0, 1.0])
        angles[:, 0, 0] -= self.heading  # the root's first axis is up
        if self.in_place:
            root[:, 2] += torch.from_numpy(self.speed * (times - times[0])).to(root)
        return replace(played, root_position=root, angles=angles)


def facing(body: GaitBody, motion: Motion, *, begin: float | None = None) -> float:
    """Where the joint that carries the legs faces [rad], on the whole or at a time."""
    carrier = max(body.rig.parents[body.limbs.legs[0].joints[0]], 0) if body.limbs.legs else 0
    ahead = motion.pose(body.rig)[:, carrier, :, 2].double().cpu().numpy()
    ahead = ahead.mean(0) if begin is None else ahead[min(round(begin * motion.fps), len(ahead) - 1)]
    return float(np.arctan2(ahead[0], ahead[2]))


def _side(body: GaitBody, motion: Motion) -> int:
    place = motion.pose(body.rig)[..., 3]
    parts = body.limbs.arms or body.limbs.legs[:2]
    moved = [(part.side, float((place[:, part.joints[-1]] - place[:, 0]).std(0).norm())) for part in parts]
    left, right = (sum(amount for side, amount in moved if side == wanted) for wanted in (1, -1))
    return 1 if left >= right else -1


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
    _step_alike(source, target, plan, stance, rotation, position, scale, sides)
    _trunk_alike(source, target, rotation, plan, sides)
    root = target.heads[0] + scale * (position[:, 0] - source.heads[0] * [sides, 1, 1])
    return stand(target, plan, rotation[:, 0], root, fps=fps)


def _step_alike(
    source: GaitBody, target: GaitBody, plan: FootPlan, stance: np.ndarray, rotation: np.ndarray, position: np.ndarray,
    scale: float, sides: int,
) -> None:  # fmt: skip
    """Contacts of the target: the source's displacements from rest, scaled, with every stance nailed down."""
    flip = np.array([sides, 1, 1])
    for i, leg in enumerate(target.limbs.legs):
        alike = (leg.rank, sides * leg.side)
        k, like = next((k, g) for k, g in enumerate(source.limbs.legs) if (g.rank, g.side) == alike)
        end, foot = like.joints[-1], like.joints[min(like.foot, len(like.joints) - 1)]
        track = (rotation[:, end] @ (like.contact * flip)) + position[:, end]
        contact = target.home[i] + scale * (track - source.home[k] * flip)
        contact[:, 1] = scale * (track[:, 1] - np.quantile(track[:, 1], 0.1))
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


def _trunk_alike(source: GaitBody, target: GaitBody, rotation: np.ndarray, plan: FootPlan, sides: int) -> None:
    """Spine, neck with head, and tail bend as they do on the source; arms point the same ways."""
    parents = source.rig.parents
    chains = ((body.limbs.spine, body.neck, body.limbs.tail) for body in (target, source))
    for ours, theirs in zip(*chains):
        if not ours or not theirs:
            continue
        base = rotation[:, max(parents[theirs[0]], 0)].swapaxes(-1, -2)
        before = np.broadcast_to(np.eye(3), (len(rotation), 3, 3))
        for i, j in enumerate(ours):
            # The joint of the source that is as far along its chain.
            like = theirs[min(round((i + 1) / len(ours) * len(theirs)) - 1, len(theirs) - 1)] if i else theirs[0]
            like = theirs[-1] if i == len(ours) - 1 else like
            now = base @ rotation[:, like]
            plan.turns[j] = before.swapaxes(-1, -2) @ now
            before = now
    still = np.zeros(len(rotation))
    for arm in target.limbs.arms:
        match = [a for a in source.limbs.arms if a.side == sides * arm.side and len(a.joints) >= 3]
        if not match or arm.wing:
            hang_arm(target, plan, arm, swing=still, spread=still, elbow=0.2)
            continue
        upper, fore, hand = match[0].joints[-3:] if len(match[0].joints) == 3 else match[0].joints[1:4]
        chest = rotation[:, max(parents[upper], 0)].swapaxes(-1, -2)
        bones = ((source.heads[b] - source.heads[a]) * [sides, 1, 1] for a, b in ((upper, fore), (fore, hand)))
        aims = ((chest @ rotation[:, j] @ bone[:, None])[..., 0] for j, bone in zip((upper, fore), bones))
        point_arm(target, plan, arm, *aims)
