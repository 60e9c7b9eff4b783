"""Published metrics of feet, against what they are by hand."""

import numpy as np
import pytest

from kinema.evaluate.published import HUMAN_LEG, foot_contact_score, skating_ratio
from kinema.motion.feet import Feet

FPS, FRAMES = 30.0, 31


def feet(speeds: list[float], heights: list[float], body: np.ndarray | None = None, leg: float = HUMAN_LEG) -> Feet:
    """Feet that move ahead at constant speeds [m/s] and heights [m]."""
    count = len(speeds)
    velocity = np.zeros((FRAMES - 1, count, 3))
    velocity[..., 2] = speeds
    world = np.zeros((FRAMES, count, 3))
    world[..., 2] = np.arange(FRAMES)[:, None] / FPS * np.array(speeds)
    height = np.tile(np.array(heights, dtype=float), (FRAMES, 1))
    body = np.zeros((FRAMES, 3)) if body is None else body
    return Feet(world, world, height, velocity, body, np.zeros(FRAMES), FPS, leg, False)


def test_skating_is_a_low_foot_that_moves() -> None:
    assert skating_ratio(feet([1.0, 0.0], [0.01, 0.01])) == 1.0
    assert skating_ratio(feet([0.49, 0.0], [0.01, 0.01])) == 0.0
    assert skating_ratio(feet([1.0, 1.0], [0.06, 0.2])) == 0.0
    half = feet([1.0, 0.0], [0.01, 0.01])
    half.height[16:, 0] = 0.2  # of 30 intervals the first 15 have it low at both ends
    assert skating_ratio(half) == 0.5
    assert skating_ratio(feet([], [])) == 0.0


def test_skating_does_not_depend_on_the_size() -> None:
    """A mouse with legs of 1.8 cm is a human fifty times smaller."""
    for speed, height in ((0.6, 0.04), (0.4, 0.04), (0.6, 0.06)):
        small = feet([speed / 50], [height / 50], leg=HUMAN_LEG / 50)
        assert skating_ratio(small) == skating_ratio(feet([speed], [height]))


def accelerated(rate: tuple[float, float, float]) -> np.ndarray:
    """y(t) = a t² / 2: the second difference is a / fps² in every frame."""
    return 0.5 * np.array(rate) * (np.arange(FRAMES)[:, None] / FPS) ** 2


def test_a_body_needs_a_foot_that_stands_to_accelerate() -> None:
    ahead = accelerated((0.0, 0.0, 2.0))
    # s = 1e4 · (a / max a = 1) · (0.6 / 30) · (0.9 / 30)
    assert foot_contact_score(feet([0.6, 0.9], [0, 0], ahead)) == pytest.approx(1e4 * 0.02 * 0.03)
    assert foot_contact_score(feet([0.0, 0.9], [0, 0], ahead)) == 0.0
    assert foot_contact_score(feet([0.6, 0.9], [0, 0])) == 0.0  # nothing accelerates
    # Of four feet the two slowest count; with one that stands there is nothing to blame.
    assert foot_contact_score(feet([0.6, 3.0, 0.9, 2.0], [0] * 4, ahead)) == pytest.approx(1e4 * 0.02 * 0.03)
    assert foot_contact_score(feet([0.6, 0.0, 0.9, 2.0], [0] * 4, ahead)) == 0.0


def test_a_fall_needs_no_foot_and_a_leap_does() -> None:
    assert foot_contact_score(feet([1.0, 1.0], [0, 0], accelerated((0.0, -9.81, 0.0)))) == 0.0
    leap = foot_contact_score(feet([1.0, 1.0], [0, 0], accelerated((0.0, 9.81, 0.0))))
    assert leap == pytest.approx(1e4 / 30**2)
