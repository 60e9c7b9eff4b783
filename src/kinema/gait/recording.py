"""Clips as they were recorded (artists' clips, motion capture): what they show and when, and played as they are."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float

from kinema.gait.beat import find_beat
from kinema.gait.clip_names import CYCLES, STATES
from kinema.gait.kinds import Gait, MotionKind
from kinema.gait.make import action_span
from kinema.gait.motions import MOTIONS
from kinema.gait.plan import UP, GaitBody
from kinema.motion.feet import find_stance, ground_speed, track_feet
from kinema.motion.loop import cut_cycle, without_stills
from kinema.motion.motion import Motion
from kinema.rig.ik import about


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
    floors: Float[np.ndarray, "legs"]
    """Height of each foot as it stands [m]."""
    held: bool = False
    """It shows nothing but the end of an action: somebody sits."""
    wording: str = ""
    variant: str = ""
    """Which of the ways of doing the motion (`Label.variant`)."""

    @staticmethod
    def of(
        kind: MotionKind | str,
        body: GaitBody,
        motion: Motion,
        *,
        wording: str = "",
        variant: str = "",
        held: bool = False,
        heading: float | None = None,
    ) -> "Recording":
        """Measure a clip of a motion.

        Args:
            wording: its own verb phrase.
            variant: which of the ways of doing it (`Label.variant`).
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
            duty = gait.duty if isinstance(gait, Gait) else 0.5
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
        floors = np.quantile(feet.world[..., 1], 0.1, axis=0)
        four = repeats and len(body.limbs.legs) == 4
        lead = ((mirrored - begin) / period + 0.5) % 1.0 - 0.5 if four and period > 0 else 0.0
        return Recording(
            name, body, motion, repeats, begin, mirrored, period, explained, speed, in_place, loops, heading,
            _side(body, motion), lead, floors, held, wording, variant,
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
