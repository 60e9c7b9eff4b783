"""Loops are cut, closed and played several times over."""

import pytest
import torch

from kinema.motion.loop import closes, cut_cycle, cycle_of, repeat, roll, unroll, without_stills
from kinema.motion.motion import Motion


def cycle(frames: int = 12) -> Motion:
    """A loop that travels along z."""
    t = torch.linspace(0, 2 * torch.pi, frames + 1, dtype=torch.float64)[:, None, None]
    phase = torch.arange(4, dtype=torch.float64)[None, :, None] + torch.arange(3, dtype=torch.float64)
    root = torch.cat((0 * t, 0.1 * torch.cos(t), 0.3 * t), -1)[:, 0]
    return Motion(root, 0.5 * torch.sin(t + phase), 24.0)


def halting() -> Motion:
    """A part of the loop that does not close."""
    return cycle()[:8]


def test_a_loop_played_thrice_has_itself_in_the_middle() -> None:
    once = cycle()
    assert closes(once)
    assert not closes(halting())
    thrice = repeat(once, 3)
    assert len(thrice) == 37
    torch.testing.assert_close(thrice.root_position[24:, 2], once.root_position[:, 2] + 2 * once.root_position[-1, 2])
    for margin in (0, 5, 12):
        longer = unroll(once, margin)
        assert len(longer) == 13 + 2 * margin
        torch.testing.assert_close(longer.angles, thrice.angles[12 - margin : 25 + margin])
        # The travel before and after goes on at the speed of the loop.
        torch.testing.assert_close(
            longer.root_position[:, 2].diff(dim=0), thrice.root_position[:, 2].diff(dim=0)[12 - margin : 24 + margin]
        )
        torch.testing.assert_close(roll(longer, margin).angles, once.angles)
        torch.testing.assert_close(roll(longer, margin).root_position, once.root_position)
    same = repeat(halting(), 1)
    assert torch.equal(same.angles, halting().angles)
    assert torch.equal(same.root_position, halting().root_position)


def test_a_loop_of_several_cycles_knows_one() -> None:
    assert cycle_of(cycle()) == 12
    assert cycle_of(repeat(cycle(), 3)) == 12
    other = repeat(cycle(), 2)
    other.angles[20, 1, 0] += 0.01
    assert cycle_of(other) == 24


def test_a_loop_that_does_not_close_any_more_is_closed_and_its_travel_stays() -> None:
    thrice = unroll(cycle(), 12)
    drift = torch.linspace(0, 0.3, len(thrice), dtype=torch.float64)
    bent = Motion(
        thrice.root_position + drift[:, None] * torch.tensor([0.0, 1.0, 1.0]),
        thrice.angles + drift[:, None, None],
        24.0,
    )
    middle = roll(bent, 12)
    assert closes(middle)
    assert middle.root_position[-1, 1] == pytest.approx(float(middle.root_position[0, 1]))
    way = cycle().root_position[-1, 2] + 0.1
    assert float(middle.root_position[-1, 2] - middle.root_position[0, 2]) == pytest.approx(float(way))
    torch.testing.assert_close(middle.root_position[0, ::2], bent.root_position[12, ::2])
    # Both rounds share the seam, and the frame farthest from it is as it was.
    torch.testing.assert_close(middle.angles[0], (bent.angles[12] + bent.angles[24]) / 2)
    torch.testing.assert_close(middle.angles[6], bent.angles[18])


def test_the_cycle_that_closes_best_is_cut_and_closed() -> None:
    # A loop played thrice that drifts, least in its last round.
    thrice = repeat(cycle(), 3)
    drift = torch.linspace(1, 0, len(thrice), dtype=torch.float64).square()[:, None, None]
    part = cut_cycle(Motion(thrice.root_position, thrice.angles + 0.1 * drift, 24.0), 12.0, times=1)
    assert len(part) == 13
    torch.testing.assert_close(part.angles[0], part.angles[-1], atol=1e-12, rtol=0)
    torch.testing.assert_close(part.angles, cycle().angles, atol=0.013, rtol=0)
    assert float(part.root_position[0, 2]) == pytest.approx(float(thrice.root_position[24, 2]), abs=0.01)


def test_frozen_ends_are_dropped() -> None:
    once = cycle()
    held = torch.cat((torch.zeros(3, dtype=torch.long), torch.arange(13), torch.full((5,), 12)))
    clip = Motion(once.root_position[held], once.angles[held], 24.0)
    assert torch.equal(without_stills(clip).angles, once.angles)
    assert len(without_stills(clip[:4])) == 4  # nothing moves: there is nothing to keep
