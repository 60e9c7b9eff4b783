"""Legs that put their feet where they are wanted, and the derivative that the tracker holds feet with."""

import numpy as np
import pytest
import torch
from physics_bodies import boxes, quadruped

from kinema.asset.character import Character, Mesh
from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.motion.motion import Motion
from kinema.physics.feet import corner_paths, find_feet, find_stance, foot_paths
from kinema.physics.legs import contact_jacobian, foot_size, lowest_weights, reach
from kinema.physics.model import contact_corners
from kinema.physics.stance import plan_stance, travel
from kinema.physics.stops import rig_stops
from kinema.rig.hinges import joint_limits
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def walking():
    body = quadruped()
    rig = Rig.from_skeleton(body, dtype=torch.float64)
    mesh = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3)))
    limbs = find_limbs(Character("bones", mesh, body))
    motion, _ = make_motion(rig, limbs, "walk", frames=25, fps=24.0)
    return body, rig, limbs, motion, find_feet(rig, limbs), contact_corners(rig, boxes(body))


def lowest_points(rig, body, feet, motion, weights):
    corners = corner_paths(rig, boxes(body), motion)
    points = [corners[:, list(foot.boxes)].flatten(1, 2) for foot in feet]
    return torch.stack([(w[..., None] * p).sum(1) for w, p in zip(weights, points)], 1)


def weights_of(rig, body, feet, corners, motion):
    paths = corner_paths(rig, boxes(body), motion)
    return [
        lowest_weights(paths[:, list(foot.boxes)].flatten(1, 2), foot_size(corners[list(foot.boxes)])) for foot in feet
    ]


def test_legs_reach_what_is_near_and_nothing_else_moves(walking) -> None:
    body, rig, limbs, motion, feet, corners = walking
    weights = weights_of(rig, body, feet, corners, motion)
    offset = torch.tensor([0.01, 0.005, -0.02], dtype=torch.float64).expand(len(motion), len(feet), 3)
    moved = reach(rig, corners, feet, motion, offset, leg_length=limbs.leg_length)
    before, after = (lowest_points(rig, body, feet, m, weights) for m in (motion, moved))
    # FIRM is 1e4: what is left is a ten-thousandth of what a leg resists with.
    torch.testing.assert_close(after - before, offset, atol=1e-3, rtol=0)
    legs = {j for foot in feet for j in foot.chain}
    kept = [j for j in range(len(rig.parents)) if j not in legs]
    assert torch.equal(moved.angles[:, kept], motion.angles[:, kept])
    still = reach(rig, corners, feet, motion, torch.zeros_like(offset), leg_length=limbs.leg_length)
    torch.testing.assert_close(still.angles, motion.angles, atol=1e-12, rtol=0)


def test_contact_jacobian_is_the_derivative_of_the_lowest_points(walking) -> None:
    body, rig, _, motion, feet, corners = walking
    motion = motion[3:5]
    weights = weights_of(rig, body, feet, corners, motion)
    J = contact_jacobian(rig, corners, feet, motion)
    q = torch.cat((motion.root_position, motion.angles.flatten(1)), -1)
    step = 1e-6
    for dof in range(q.shape[1]):
        sides = []
        for sign in (1, -1):
            there = q.clone()
            there[:, dof] += sign * step
            at = Motion(there[:, :3], there[:, 3:].unflatten(1, (-1, 3)), motion.fps)
            sides.append(lowest_points(rig, body, feet, at, weights))
        torch.testing.assert_close((sides[0] - sides[1]) / (2 * step), J[..., dof], atol=1e-8, rtol=0)


def test_a_paw_that_dips_in_swing_does_not_stand_there(walking) -> None:
    body, rig, limbs, motion, feet, corners = walking
    clean = find_stance(rig, boxes(body), limbs, motion)
    # Every swinging foot goes 2 cm below the height that it stands at.
    heights = foot_paths(rig, boxes(body), feet, motion)[0].numpy()
    down = np.where(clean, 0.0, -heights - 0.02)
    offset = torch.from_numpy(np.stack((0 * down, down, 0 * down), -1))
    dipping = reach(rig, corners, feet, motion, offset, leg_length=limbs.leg_length)
    found = find_stance(rig, boxes(body), limbs, dipping)
    assert float((found == clean).mean()) > 0.9


def test_stances_that_legs_can_keep_are_kept_whole(walking) -> None:
    body, rig, limbs, motion, _, _ = walking
    found = find_stance(rig, boxes(body), limbs, motion)
    assert float((plan_stance(rig, boxes(body), limbs, motion) == found).mean()) > 0.95


def test_travel_gives_a_walk_in_place_its_speed(walking) -> None:
    body, rig, limbs, motion, _, _ = walking
    still = motion.root_position.clone()
    still[:, [0, 2]] = still[:1, [0, 2]]
    found = travel(rig, boxes(body), limbs, Motion(still, motion.angles, motion.fps)).root_position
    gone, asked = (float((p[-1] - p[0])[2]) for p in (found, motion.root_position))
    assert gone == pytest.approx(asked, rel=0.05)


def test_stops_hold_the_motion_and_keep_knees_one_way() -> None:
    fox = creature("fox")
    assert fox.skeleton is not None
    rig = Rig.from_skeleton(fox.skeleton, dtype=torch.float64)
    limbs = find_limbs(fox)
    rest = Motion.rest(rig, frames=2, fps=24.0)
    known = joint_limits(fox, limbs)
    stops = rig_stops(fox, limbs, rest)
    knee = known.hinges[0]
    assert stops.shape == (len(rig.parents), 3, 2)
    np.testing.assert_allclose(stops[knee, :, 0].numpy(), np.minimum(known.lower[knee], -0.05))
    angles = rest.angles.clone()
    angles[1, knee] = 3.0
    assert bool((rig_stops(fox, limbs, Motion(rest.root_position, angles, 24.0))[knee, :, 1] > 3.0).all())
