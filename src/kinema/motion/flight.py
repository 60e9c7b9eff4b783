"""Does a body hang in the air? Between its contacts nothing but gravity may change how fast it rises or falls."""

import numpy as np
from jaxtyping import Float

from kinema.geometry.rotations import runs
from kinema.motion.motion import GRAVITY

CLEAR = 0.04
"""Height of the lowest point from which on nothing touches the ground [leg lengths]."""


def carried(height: Float[np.ndarray, "frames"], fps: float) -> tuple[float, int, int]:
    """For how long the weight of a body without contact is borne by nothing, given its centre of mass [m]; in s.

    One that is thrown falls with gravity: 0. One that stays where it is, or rises evenly, is borne all the time. Before
    and after it may fall too fast: the worst part counts, whose first frame and one past whose last come with it.
    """
    total = np.concatenate(([0.0], np.cumsum(np.diff(height, n=2) * fps**2 + GRAVITY))) / (GRAVITY * fps)
    borne = total - np.minimum.accumulate(total)
    last = int(borne.argmax())
    return float(borne[last]), int(total[: last + 1].argmin()), last + 2


def hanging(
    lowest: Float[np.ndarray, "frames"], middle: Float[np.ndarray, "frames"], *, fps: float, leg: float, ends: bool
) -> float:
    """For how long a clip's body hangs in the air [s], given the heights of its lowest point and of its middle [m].

    `ends`: nothing comes after the last frame, and who is in the air there hangs for as long as falling would take.
    """
    air = lowest > CLEAR * leg
    worst = max((carried(middle[first:last], fps)[0] for first, last in runs(air)), default=0.0)
    return max(worst, float(np.sqrt(2 * lowest[-1] / GRAVITY)) if ends and air[-1] else 0.0)
