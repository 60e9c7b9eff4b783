"""Does a body hang in the air? Who has left the ground comes down again, as soon as he has risen high."""

import numpy as np

from kinema.geometry.rotations import runs
from kinema.motion.foot_skin import PerFrame
from kinema.motion.motion import GRAVITY

CLEAR = 0.04
"""Height of the lowest vertex from which on nothing touches the ground [leg lengths]."""


def hanging(lowest: PerFrame, middle: PerFrame, *, fps: float, leg: float) -> float:
    """Longest time without contact beyond that of a jump in which the middle of the body rises and falls as far [s].

    Begins and ends of clips in the air are judged alike: who is up at the end was a moment ago at the top or is on the
    way there. A body that rises without support, hovers or rests over the ground is in the air for longer than that.
    """
    worst = 0.0
    for first, last in runs(lowest > CLEAR * leg):
        height = middle[max(first - 1, 0) : last + 1]  # with the frames that touch before and after it
        rise, fall = height.max() - height[0], height.max() - height[-1]
        flight = np.sqrt(2 * rise / GRAVITY) + np.sqrt(2 * fall / GRAVITY)
        worst = max(worst, (len(height) - 1) / fps - flight)
    return float(worst)
