"""Gaits against the textbook: footfalls of four legs (Hildebrand 1965), joint angles of people (Winter 1991)."""

from functools import cache

import numpy as np
import pytest
import torch

from kinema.create.creatures import creature
from kinema.gait.kinds import Style
from kinema.gait.make import make_motion
from kinema.motion.feet import find_cycle, track_feet
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs

# Touchdowns of front left, front right, hind left, hind right. A walk is the lateral sequence: each hind foot lands a
# quarter of a cycle before the front foot of its side.
FOOTFALLS = {
    "walk": (0.0, 0.5, 0.75, 0.25), "trot": (0.0, 0.5, 0.5, 0.0), "pace": (0.0, 0.5, 0.0, 0.5),
    "canter": (0.0, 0.7, 0.7, 0.42), "gallop": (0.0, 0.12, 0.55, 0.67),
}  # fmt: skip


@cache
def prepared(name: str) -> tuple[Rig, Limbs]:
    character = creature(name, detail="low")
    assert character.skeleton is not None
    return Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character)


def ranges_deg(rig: Rig, motion: Motion, joints: tuple[int, ...]) -> list[float]:
    """Largest angle between any two orientations of a joint in its parent, over the clip."""
    R = motion.pose(rig)[..., :3].numpy()
    local = [R[:, rig.parents[j]].swapaxes(-1, -2) @ R[:, j] for j in joints]
    cosines = [(np.einsum("aij,bij->ab", x, x) - 1) / 2 for x in local]
    return [float(np.rad2deg(np.arccos(np.clip(cosine, -1, 1)).max())) for cosine in cosines]


@pytest.mark.parametrize("animal", ["dog", "horse", "elephant"])
@pytest.mark.parametrize("gait", list(FOOTFALLS))
def test_feet_of_four_legs_touch_down_by_the_book(animal, gait):
    rig, limbs = prepared(animal)
    motion, _ = make_motion(rig, limbs, gait, frames=61, fps=24.0, period=1.0)
    cycle = find_cycle(track_feet(rig, limbs, motion))
    away = (cycle.phase - cycle.phase[0] - FOOTFALLS[gait] + 0.5) % 1 - 0.5
    assert np.abs(away).max() < 0.03


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_people_walk_with_bent_knees_and_arms_against_the_legs(seed):
    rig, limbs = prepared("human")
    rng = None if seed is None else np.random.default_rng(seed)
    motion, _ = make_motion(rig, limbs, "walk", frames=49, fps=24.0, period=1.0, rng=rng)
    knees, uppers = tuple(leg.joints[1] for leg in limbs.legs), tuple(arm.joints[0] for arm in limbs.arms)
    # Real knees bend by about 60 degrees in swing.
    assert all(45 < angle < 75 for angle in ranges_deg(rig, motion, knees))
    assert all(15 < angle < 47 for angle in ranges_deg(rig, motion, uppers))
    # The left hand is ahead of its shoulder while the left foot is behind its hip.
    pose = motion.pose(rig)[..., 3].numpy()
    arm, leg = limbs.arms[0], next(leg for leg in limbs.legs if leg.side == limbs.arms[0].side)
    hand = pose[:, arm.joints[-1], 2] - pose[:, arm.joints[0], 2]
    foot = pose[:, leg.joints[-1], 2] - pose[:, leg.joints[0], 2]
    assert np.corrcoef(hand, foot)[0, 1] < -0.8


def test_backs_necks_and_tails_of_four_legs_live():
    rig, limbs = prepared("dog")
    # An artist's dog (the husky of the shared data) bends each of three joints by 7 degrees in a walk, 10 in a gallop.
    for gait, least, most in (("walk", 5, 12), ("trot", 5, 12), ("canter", 12, 30), ("gallop", 18, 30)):
        motion, _ = make_motion(rig, limbs, gait, frames=49, fps=24.0, period=1.0)
        assert least < np.mean(ranges_deg(rig, motion, limbs.spine)) < most
        assert np.mean(ranges_deg(rig, motion, limbs.neck)) > 7
        assert np.mean(ranges_deg(rig, motion, limbs.tail)) > 10
        stiff, _ = make_motion(rig, limbs, gait, frames=49, fps=24.0, period=1.0, style=Style(spine=0.5))
        assert np.mean(ranges_deg(rig, stiff, limbs.spine)) < 0.7 * np.mean(ranges_deg(rig, motion, limbs.spine))


def test_a_tail_that_wags_swings_to_both_sides():
    rig, limbs = prepared("dog")
    motion, _ = make_motion(rig, limbs, "wag", frames=48, fps=24.0)
    pose = motion.pose(rig)
    tip = (pose[:, limbs.tail[-1], 0, 3] - pose[:, limbs.tail[0], 0, 3]).numpy() / limbs.leg_length
    assert tip.max() > 0.15
    assert tip.min() < -0.15
    # At least three times to and fro within two seconds.
    assert (np.diff(np.sign(tip)) != 0).sum() >= 5


@pytest.mark.parametrize(("name", "way"), [("walk_back", (0, 0, -1)), ("sidle", (1, 0, 0))])
def test_backwards_and_sideways_are_seen_from_where_the_body_faces(name, way):
    rig, limbs = prepared("human")
    motion, label = make_motion(rig, limbs, name, frames=25, fps=24.0, period=1.0)
    travel = (motion.root_position[-1] - motion.root_position[0]).numpy() / limbs.leg_length
    np.testing.assert_allclose(travel, label.speed * np.array(way), atol=1e-9)
    other, mirrored = make_motion(rig, limbs, name, frames=25, fps=24.0, period=1.0, style=Style(side=-1))
    back = (other.root_position[-1] - other.root_position[0]).numpy() / limbs.leg_length
    np.testing.assert_allclose(back, travel * [-1, 1, 1], atol=1e-9)
    assert mirrored.direction == -label.direction
