"""Bursts: a few frames around a touch-down in which a simulated body is shaken, and what is left without them."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d, maximum_filter1d, median_filter
from torch import Tensor

from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig

CALM, SHAKEN = 0.85, 1.0
"""Jerk of a simulated motion relative to that of the motion it follows: the body's inertia takes some 15 % off; where
there is more, its changes are smoothed, and where it is no less than before, they are smoothed wholly."""
WINDOW_S = 0.08
"""Time over which jerk is compared, and half of that in which a burst is outvoted by what is around it [s]."""


def without_bursts(rig: Rig, followed: Motion, simulated: Motion) -> Motion:
    """The simulated motion; where it is shaken, with what it changed about the followed one smoothed in time.

    A search of some hundred steps leaves such bursts, the more, the longer the motion is. Slow changes, which are what
    physics is asked for, stay.
    """
    if len(simulated) < 4:
        return simulated
    width = WINDOW_S * simulated.fps
    jerk, before = (
        gaussian_filter1d(_squared_jerk(rig, motion), width, mode="nearest") for motion in (simulated, followed)
    )
    ratio = np.sqrt(jerk / np.maximum(before, 1e-12 * max(float(before.max()), 1e-30)))
    share = np.clip((ratio - CALM) / (SHAKEN - CALM), 0.0, 1.0)
    # A whole burst is smoothed, with soft ends.
    share = gaussian_filter1d(maximum_filter1d(share, 2 * round(width / 2) + 1), width / 2, mode="nearest")
    if not share.any():
        return simulated

    def smoothed(values: Float[Tensor, "frames *_"], goal: Float[Tensor, "frames *_"]) -> Tensor:
        change = (values - goal).double().numpy()
        calm = median_filter(change, (2 * round(width) + 1, *[1] * (change.ndim - 1)), mode="nearest")
        calm = gaussian_filter1d(calm, width / 2, axis=0, mode="nearest")
        part = share.reshape(-1, *[1] * (change.ndim - 1))
        return values + torch.from_numpy(part * (calm - change)).to(values)

    root = smoothed(simulated.root_position, followed.root_position)
    return replace(simulated, root_position=root, angles=smoothed(simulated.angles, followed.angles))


def _squared_jerk(rig: Rig, motion: Motion) -> Float[np.ndarray, "frames"]:
    """Mean square of the third difference of the joints relative to the root, of each frame [m²]."""
    place = motion.pose(rig)[..., 3].detach().double().numpy()
    third = np.diff(place - place[:, :1], n=3, axis=0)
    return np.pad(np.square(third).sum(-1).mean(-1), (1, 2), mode="edge")
