"""Loops: cut a motion at whole periods, close it, play it several times over."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from torch import Tensor

from kinema.motion.motion import Motion


def closes(motion: Motion) -> bool:
    """Does the last frame show the pose of the first, its travel apart, so that it may be played again and again?"""
    return len(motion) > 2 and bool((motion.angles[-1] - motion.angles[0]).abs().max() < 1e-3)


def cycle_of(loop: Motion) -> int:
    """Frames of the shortest cycle that the loop repeats, all of it if it repeats none in whole frames."""
    steps = len(loop) - 1
    angles = loop.angles.detach()
    equal = (n for n in range(1, steps) if steps % n == 0 and (angles[n:] - angles[:-n]).abs().max() < 1e-3)
    return next(equal, steps)


def close(motion: Motion) -> Motion:
    """The motion with its mismatch spread evenly over time, so that it closes; the horizontal travel stays."""
    share = torch.linspace(0, 1, len(motion), dtype=motion.angles.dtype, device=motion.angles.device)
    rise = (motion.root_position[0] - motion.root_position[-1]) * torch.tensor([0.0, 1.0, 0.0]).to(motion.angles)
    angles = motion.angles + share[:, None, None] * (motion.angles[0] - motion.angles[-1])
    moved = motion.translation
    moved = None if moved is None else moved + share[:, None, None] * (moved[0] - moved[-1])
    return Motion(motion.root_position + share[:, None] * rise, angles, motion.fps, moved)


def cut_cycle(motion: Motion, period: float, *, times: int | None = None) -> Motion:
    """So many (or all) whole periods where they close best, resampled to whole frames and closed, the travel apart.

    `period` [frames] may be a few per cent off, as `find_cycle` knows it.
    """
    last, moved = len(motion) - 1, motion.translation
    parts = [motion.root_position[:, None], motion.angles, *(() if moved is None else (moved,))]
    path = CubicSpline(np.arange(last + 1), torch.cat(parts, 1).detach().double().cpu().numpy())

    def gaps(length: float, order: int = 0) -> Float[np.ndarray, "begins"]:
        begins = np.arange(last - length + 1e-9)
        return np.square(path(begins + length, order) - path(begins, order))[:, 1:].sum((1, 2))

    lengths = (times or max(1, int(last / period + 0.05))) * period * np.linspace(0.95, 1.05, 101)
    length = float(min(np.minimum(lengths, last), key=lambda length: gaps(length).mean()))
    begin = float((gaps(length) + gaps(length, 1)).argmin())
    # Between frames as little as possible: feet stand still at frames.
    begin = float(np.clip(begin - (length - round(length)) / 2, 0, last - length))
    cut = torch.from_numpy(path(np.linspace(begin, begin + length, round(length) + 1))).to(motion.angles)
    root, angles, *moved = cut.split([part.shape[1] for part in parts], 1)
    return close(Motion(root[:, 0], angles, motion.fps, *moved))


def repeat(motion: Motion, times: int) -> Motion:
    """A motion that closes, several times over; the travel goes on."""
    root, angles = motion.root_position, motion.angles
    way = root[-1] - root[0]
    path = torch.cat((*(root[:-1] + number * way for number in range(times)), root[-1:] + (times - 1) * way))
    moved = motion.translation
    moved = None if moved is None else torch.cat((*[moved[:-1]] * times, moved[-1:]))
    return Motion(path, torch.cat((*[angles[:-1]] * times, angles[-1:])), motion.fps, moved)


def unroll(motion: Motion, margin: int) -> Motion:
    """A loop with so many frames of the rounds before and after it, so that its ends are worked on like its middle."""
    frames, thrice = len(motion) - 1, repeat(motion, 3)
    part = thrice[frames - margin : 2 * frames + margin + 1]
    way = motion.root_position[-1] - motion.root_position[0]
    return replace(part, root_position=part.root_position - way)


def roll(motion: Motion, margin: int) -> Motion:
    """The loop itself out of what `unroll` gave, closed again.

    Around the seam the frames of one round fade into those of the next, which show the same moment of the loop. So a
    foot that stands in both stands in between too, while spreading the gap over the whole loop would move every foot.
    """
    last, path = len(motion) - 1 - 2 * margin, motion.root_position
    half = min(margin // 2, last // 2)  # the ends of the margins are worked on less well
    way = (path[margin + last] - path[margin]) * torch.tensor([1.0, 0.0, 1.0]).to(path)
    share = torch.linspace(0, 1, half + 1, dtype=path.dtype, device=path.device)
    share = 0.5 + 0.5 * share.square() * (3 - 2 * share)

    def fade(values: Float[Tensor, "frames *_"], step: Float[Tensor, "..."] | float = 0.0) -> Tensor:
        own, part = values[margin : margin + last + 1].clone(), share.view(-1, *[1] * (values.ndim - 1))
        begin, end = own[: half + 1].clone(), own[last - half :].clone()
        after, before = values[margin + last :][: half + 1] - step, values[margin - half : margin + 1] + step
        own[: half + 1] = part * begin + (1 - part) * after
        own[last - half :] = part.flip(0) * end + (1 - part.flip(0)) * before
        return own

    moved = motion.translation
    moved = None if moved is None else fade(moved)
    return Motion(fade(path, way), fade(motion.angles), motion.fps, moved)


def without_stills(motion: Motion, *, shortest: int = 8) -> Motion:
    """Drop frozen frames at the ends (some clips hold their last pose), if at least `shortest` steps move."""
    step = motion.angles.detach().diff(dim=0).abs().amax((1, 2)) if len(motion) > 1 else motion.angles.new_zeros(0)
    moving = (step > 1e-3 * step.max()).nonzero().flatten() if len(step) and step.max() > 1e-6 else step.new_zeros(0)
    return motion if len(moving) < shortest else motion[int(moving[0]) : int(moving[-1]) + 2]
