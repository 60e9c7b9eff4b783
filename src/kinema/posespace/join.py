"""Clips one after another: each goes on where and as the one before ended, over a walk through the pose space.

The clips stay as they are, but for heading and place; a loop may be left and entered where the two are most alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.geometry.transforms import rotation_matrix, rotation_vector
from kinema.motion.loop import closes
from kinema.motion.motion import Motion
from kinema.posespace.pose import Poses, without_heading
from kinema.posespace.space import PoseSpace
from kinema.posespace.steps import hermite, slope_basis, steps_between
from kinema.posespace.walk import speeds
from kinema.rig.kinematics import Rig, angles_from_rotations, local_rotations
from kinema.rig.limbs import Limbs

SHORTEST_S, LONGEST_S = 0.3, 1.0
"""Duration of a walk between two clips [s]."""
PACE = 0.25
"""Least speed of a body on its way from one clip to the next: root mean square of its joints [scales/s]."""
SAME_SPEED_S = 0.1
"""How much a difference of velocity counts against one of place where a loop is left or entered [s]."""


@dataclass(frozen=True)
class Joined:
    """Several clips as one."""

    motion: Motion
    spans: tuple[tuple[int, int], ...]
    """First and last frame of each clip; what lies between two of them are walks."""


def join(space: PoseSpace, limbs: Limbs, clips: Sequence[Motion]) -> Joined:
    """The clips one after another, at the highest of their frame rates; the first begins where it did."""
    if any(clip.translation is not None for clip in clips):
        raise KinemaError("clips can be joined that turn joints only")
    fps = max(clip.fps for clip in clips)
    clips = [clip if clip.fps == fps else clip.resample(fps) for clip in clips]
    motion, spans, begin = clips[0], [], 0
    for k, clip in enumerate(clips[1:]):
        leave, enter = _best_cut(space.rig, motion[begin:], clip, loops=(closes(clips[k]), closes(clip)))
        before, after = motion[: begin + leave + 1], clip[enter:]
        spans.append((begin, len(before) - 1))
        motion, begin = _joined(space, limbs, before, after, (closes(clips[k]), closes(clip)))
    return Joined(motion, (*spans, (begin, len(motion) - 1)))


def _best_cut(rig: Rig, before: Motion, after: Motion, *, loops: tuple[bool, bool]) -> tuple[int, int]:
    """Frames at which the first clip is left and the second entered: of loops any in the second and the first half."""
    shapes = [Poses.of_motion(rig, clip).place(rig)[..., 3].flatten(1) for clip in (before, after)]
    told = []
    for shape in shapes:
        velocity = torch.gradient(shape, dim=0)[0] if len(shape) > 1 else torch.zeros_like(shape)
        told.append(torch.cat((shape, SAME_SPEED_S * before.fps * velocity), 1))
    first = len(before) // 2 if loops[0] else len(before) - 1
    last = max(len(after) // 2, 1) if loops[1] else 1
    gap = torch.cdist(told[0][first:], told[1][:last])
    leave, enter = divmod(int(gap.argmin()), gap.shape[1])
    return first + leave, enter


def _joined(
    space: PoseSpace, limbs: Limbs, before: Motion, after: Motion, loops: tuple[bool, bool]
) -> tuple[Motion, int]:
    """Both clips with a walk between them, and the frame at which the second begins."""
    rig, fps = space.rig, before.fps
    ends = Poses.cat((Poses.of_motion(rig, before[-1:]), Poses.of_motion(rig, after[:1])))
    count = _frames_between(rig, ends, before, after, space.body.scale)
    seconds = count / fps
    shares = torch.linspace(0, 1, count + 1)
    poses = space.walk(ends[:1], ends[1:], count + 1)
    yaw, yaw_after = (_yaw(rig, clip) for clip in (before, after))
    turn = _course(yaw, loops[0])[-1] - _course(yaw_after, loops[1])[0]
    after = turned(rig, after, float(turn))
    yaw_after = yaw_after + turn
    heading = hermite(yaw[-1], yaw_after[0], _rate(yaw, fps, -1), _rate(yaw_after, fps, 0), shares, seconds)
    local = [local_rotations(rig, clip.angles) for clip in (before, after)]
    walked = torch.cat((_about_up(heading) @ poses.rotations[:, :1], poses.rotations[:, 1:]), 1)
    walked = _with_speeds(walked, local, shares)
    speed = _rate(before.root_position, fps, -1), _rate(after.root_position, fps, 0)
    # As far as the mean of both velocities goes, at the heights of the poses.
    way = before.root_position[-1] - after.root_position[0] + 0.5 * seconds * (speed[0] + speed[1])
    after = replace(after, root_position=after.root_position + way * torch.tensor([1.0, 0.0, 1.0]))
    root = hermite(before.root_position[-1], after.root_position[0], *speed, shares, seconds)
    out, into = slope_basis(shares)
    steps = poses.height.diff() * fps
    rise = seconds * (out * (speed[0][1] - steps[0]) + into * (speed[1][1] - steps[-1]))
    root[:, 1] = rig.heads[0, 1] + poses.height + rise
    rotations = torch.cat((local[0], walked[1:-1], local[1]))
    angles = angles_from_rotations(rig.to(torch.float64), rotations.double()).to(before.angles)
    motion = Motion(torch.cat((before.root_position, root[1:-1], after.root_position)), angles, fps)
    span = (len(before) - 1, len(before) - 1 + count)
    return steps_between(rig, limbs, motion, span), span[1]


def _frames_between(rig: Rig, ends: Poses, before: Motion, after: Motion, scale: float) -> int:
    """As many as the joints need at the pace that they have in the two clips."""
    away = float(speeds(rig, ends)[0])
    usual = [
        float(speeds(rig, Poses.of_motion(rig, clip)).mean()) * clip.fps for clip in (before, after) if len(clip) > 1
    ]
    seconds = min(max(2 * away / max(PACE * scale, *usual), SHORTEST_S), LONGEST_S)
    return max(2, math.ceil(seconds * before.fps))


def turned(rig: Rig, motion: Motion, yaw: float) -> Motion:
    """The motion turned about the vertical through the world's origin [rad]."""
    about = _about_up(torch.tensor([yaw]))[0, 0]
    local = local_rotations(rig, motion.angles)
    root = angles_from_rotations(_only_root(rig), (about @ local[:, :1]).double()).to(motion.angles)
    return replace(
        motion, root_position=motion.root_position @ about.mT, angles=torch.cat((root, motion.angles[:, 1:]), 1)
    )


def _only_root(rig: Rig) -> Rig:
    return Rig(rig.names[:1], rig.parents[:1], rig.heads[:1].double(), rig.axes[:1].double())


def _yaw(rig: Rig, motion: Motion) -> Float[Tensor, "frames"]:
    """Heading of the root about the vertical, + to the left, without jumps [rad]."""
    _, heading = without_heading(local_rotations(rig, motion.angles)[:, 0])
    yaw = torch.atan2(heading[:, 0, 2], heading[:, 2, 2])
    return torch.from_numpy(np.unwrap(yaw.double().numpy())).float()


def _course(yaw: Float[Tensor, "frames"], loops: bool) -> Float[Tensor, "frames"]:
    """Where a clip goes: of a gait, without the sway of the pelvis within a cycle."""
    if not loops or len(yaw) < 3:
        return yaw
    time = np.arange(len(yaw))
    return torch.from_numpy(np.polyval(np.polyfit(time, yaw.double().numpy(), 1), time)).float()


def _about_up(yaw: Float[Tensor, "n"]) -> Float[Tensor, "n 1 3 3"]:
    c, s, o = yaw.cos(), yaw.sin(), torch.zeros_like(yaw)
    return torch.stack((c, o, s, o, o + 1, o, -s, o, c), -1).view(-1, 1, 3, 3)


def _rate(values: Float[Tensor, "frames *rest"], fps: float, at: int) -> Float[Tensor, "*rest"]:
    """Time derivative at the first (0) or last (-1) frame."""
    return (values.diff(dim=0)[at] if len(values) > 1 else torch.zeros_like(values[0])) * fps


def _with_speeds(
    walked: Float[Tensor, "n joints 3 3"], local: list[Float[Tensor, "_ joints 3 3"]], shares: Float[Tensor, "n"]
) -> Float[Tensor, "n joints 3 3"]:
    """The walk with joints that leave at the velocity of the first clip and arrive at that of the second."""
    steps = len(shares) - 1
    turns = []
    for wanted, own in ((local[0][-2:], walked[:2]), (local[1][:2], walked[-2:])):
        first, second = (rotation_vector(pair[-1] @ pair[0].mT) for pair in (wanted, own))
        turns.append(steps * (first - second))
    out, into = slope_basis(shares[:, None, None])
    return rotation_matrix(out * turns[0] + into * turns[1]) @ walked
