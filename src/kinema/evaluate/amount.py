"""How much of an action a clip shows: the angles its joints turn by, against those of our own motion of that name."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.gait.clip_names import STATES
from kinema.gait.kinds import Style
from kinema.gait.make import can_do, make_motion
from kinema.gait.motions import MOTIONS
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

FRAMES = 48
"""Frames at which our own motion is looked at, from before it begins to after it has ended."""
MARGIN = 0.1
"""Time before and after it, as a share of it."""
MAIN = 0.5
"""Share of the largest swing from which on a joint belongs to those that do the action."""

Rotations = Float[np.ndarray, "frames joints 3 3"]


@dataclass(frozen=True)
class Amount:
    """What the joints that do an action do in a clip."""

    share: float
    """Their swing as a share of the usual one, in [0, 1]."""
    swing_deg: float
    usual_deg: float
    """Mean swing of these joints in the clip, and in our own motion of that name."""


def joint_swings(rotations: Rotations) -> Float[np.ndarray, "joints"]:
    """Angle between the two poses of each joint that are farthest apart, seen from the root; the root's, in the world.

    The farthest from the first frame, and the farthest from that: nearly the largest of all pairs [deg].
    """
    seen = np.swapaxes(rotations[:, :1], -1, -2) @ rotations
    seen[:, 0] = rotations[:, 0]
    each = np.arange(seen.shape[1])
    far = _angles(seen, seen[0]).argmax(0)
    return np.rad2deg(_angles(seen, seen[far, each]).max(0))


def amount_done(rig: Rig, limbs: Limbs, motion: Motion, wanted: str) -> Amount | None:
    """How far the joints that do an action turn, of its usual swing on this body; None where we have no such action.

    Whichever side does it better counts: a wave is one with either hand.
    """
    kind = MOTIONS.get(wanted)
    if kind is None or kind.action is None or wanted in STATES or not can_do(limbs, kind):
        return None
    swings, found = joint_swings(_rotations(rig, motion)), []
    times = {"frames": FRAMES, "fps": 1.0, "phase": -MARGIN, "period": (FRAMES - 1) / (1 + 2 * MARGIN)}
    for side in (1, -1):
        shown, _ = make_motion(rig, limbs, kind, style=Style(side=side), **times)
        usual = joint_swings(_rotations(rig, shown))
        main = usual > MAIN * usual.max()
        share = float((np.minimum(swings, usual)[main] / usual[main]).mean())
        found.append(Amount(share, float(swings[main].mean()), float(usual[main].mean())))
    return max(found, key=lambda amount: amount.share)


def _rotations(rig: Rig, motion: Motion) -> Rotations:
    return motion.pose(rig.to(motion.angles.dtype)).detach().double().cpu().numpy()[..., :3]


def _angles(rotations: Rotations, one: Float[np.ndarray, "joints 3 3"]) -> Float[np.ndarray, "frames joints"]:
    # trace(R) = 1 + 2 cos(angle)
    return np.arccos(np.clip(((rotations * one).sum((-1, -2)) - 1) / 2, -1.0, 1.0))
