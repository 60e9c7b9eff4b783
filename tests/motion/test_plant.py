"""Feet are put where they are wanted and kept on the ground; the rest of the motion is kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from physics_bodies import boxes, quadruped

from kinema.asset.character import Character, Mesh
from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.geometry.rotations import runs
from kinema.motion.carry import Planted, carry_root, stances
from kinema.motion.feet import contact_paths, find_box_feet, find_stance, touching, track_feet
from kinema.motion.motion import GRAVITY, Motion
from kinema.motion.plant import _until_they_move, ground_feet, move_feet, plan_stance, plant, travel
from kinema.physics.measure import joint_error_deg
from kinema.rig.anatomy import Anatomy
from kinema.rig.ik import effector_jacobian
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def walking():
    body = quadruped()
    rig = Rig.from_skeleton(body, dtype=torch.float64)
    mesh = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3)))
    limbs = find_limbs(Character("bones", mesh, body))
    motion, _ = make_motion(rig, limbs, "walk", frames=25, fps=24.0)
    return body, rig, limbs, motion, find_box_feet(rig, limbs, boxes(body))


def with_faults(motion: Motion, *, speed: float = 1.5, lift: float = 0.03) -> Motion:
    start = motion.root_position[:1]
    scale = torch.tensor([speed, 1.0, speed], dtype=torch.float64)
    up = torch.tensor([0.0, lift, 0.0], dtype=torch.float64)
    return Motion(start + scale * (motion.root_position - start) + up, motion.angles, motion.fps)


def lowest_points(rig, feet, motion, weights):
    T = motion.pose(rig)
    return torch.stack([(w[..., None] * foot.at(T)).sum(1) for w, foot in zip(weights, feet)], 1)


def test_legs_reach_what_is_near_and_nothing_else_moves(walking) -> None:
    _, rig, limbs, motion, feet = walking
    weights = touching(feet, motion.pose(rig))
    offset = torch.tensor([0.01, 0.005, -0.02], dtype=torch.float64).expand(len(motion), len(feet), 3)
    moved = move_feet(rig, feet, motion, offset.numpy(), leg_length=limbs.leg_length)
    before, after = (lowest_points(rig, feet, m, weights) for m in (motion, moved))
    # POSITION_WEIGHT is 1e4: what is left is a ten-thousandth of what a leg resists with.
    torch.testing.assert_close(after - before, offset, atol=1e-3, rtol=0)
    legs = {j for foot in feet for j in foot.chain}
    kept = [j for j in range(len(rig.parents)) if j not in legs]
    assert torch.equal(moved.angles[:, kept], motion.angles[:, kept])
    still = move_feet(rig, feet, motion, 0 * offset.numpy(), leg_length=limbs.leg_length)
    torch.testing.assert_close(still.angles, motion.angles, atol=1e-12, rtol=0)


def test_the_jacobian_is_the_derivative_of_the_lowest_points(walking) -> None:
    _, rig, _, motion, feet = walking
    motion = motion[3:5]
    weights = touching(feet, motion.pose(rig))
    J = effector_jacobian(rig, motion.root_position, motion.angles, feet, weights)
    q = torch.cat((motion.root_position, motion.angles.flatten(1)), -1)
    step = 1e-6
    for dof in range(q.shape[1]):
        sides = []
        for sign in (1, -1):
            there = q.clone()
            there[:, dof] += sign * step
            at = Motion(there[:, :3], there[:, 3:].unflatten(1, (-1, 3)), motion.fps)
            sides.append(lowest_points(rig, feet, at, weights))
        torch.testing.assert_close((sides[0] - sides[1]) / (2 * step), J[..., dof], atol=1e-8, rtol=0)


def test_a_paw_that_dips_in_swing_does_not_stand_there(walking) -> None:
    _, rig, limbs, motion, feet = walking
    clean = find_stance(track_feet(rig, limbs, motion))
    # Every swinging foot goes 2 cm below the height that it stands at.
    heights = contact_paths(feet, motion.pose(rig), fps=motion.fps)[0]
    down = np.where(clean, 0.0, -heights - 0.02)
    offset = np.stack((0 * down, down, 0 * down), -1)
    dipping = move_feet(rig, feet, motion, offset, leg_length=limbs.leg_length)
    found = find_stance(track_feet(rig, limbs, dipping))
    assert float((found == clean).mean()) > 0.9


def test_stances_that_legs_can_keep_are_kept_whole(walking) -> None:
    body, rig, limbs, motion, _ = walking
    found = find_stance(track_feet(rig, limbs, motion))
    assert float((plan_stance(rig, boxes(body), limbs, motion) == found).mean()) > 0.95


def test_travel_gives_a_walk_in_place_its_speed(walking) -> None:
    body, rig, limbs, motion, _ = walking
    still = motion.root_position.clone()
    still[:, [0, 2]] = still[:1, [0, 2]]
    found = travel(rig, boxes(body), limbs, Motion(still, motion.angles, motion.fps)).root_position
    gone, asked = (float((p[-1] - p[0])[2]) for p in (found, motion.root_position))
    assert gone == pytest.approx(asked, rel=0.05)


def test_stance_is_found_whatever_the_root_does(walking) -> None:
    _, rig, limbs, motion, _ = walking
    clean = find_stance(track_feet(rig, limbs, motion))
    assert 0.4 < clean.mean() < 0.8  # a walk has a duty factor of 0.64
    for speed, lift in ((1.5, 0.03), (0.0, -0.1), (0.5, 0.3)):
        found = find_stance(track_feet(rig, limbs, with_faults(motion, speed=speed, lift=lift)))
        assert float((found == clean).mean()) > 0.97


def test_a_planted_walk_stands_still_on_the_ground(walking) -> None:
    body, rig, limbs, motion, feet = walking
    faulty = with_faults(motion)
    cuboids = boxes(body)
    stance = plan_stance(rig, cuboids, limbs, faulty, feet=feet)
    target = plant(rig, cuboids, limbs, faulty, feet=feet, stance=stance)
    both = stance[1:] & stance[:-1]
    heights, velocity = contact_paths(feet, target.pose(rig), fps=24.0)
    slid = np.linalg.norm(contact_paths(feet, faulty.pose(rig), fps=24.0)[1], axis=-1)[both].mean()
    assert np.linalg.norm(velocity, axis=-1)[both].mean() < 0.05 * slid
    assert np.abs(heights[stance]).max() < 5e-3
    assert joint_error_deg(rig, faulty, target) < 1.5
    # What no leg moves is kept to the last bit.
    moved = {j for leg in limbs.legs for j in leg.joints}
    kept = [j for j in range(len(rig.parents)) if j not in moved]
    assert torch.equal(target.angles[:, kept], faulty.angles[:, kept])


def test_brisk_feet_rise_as_soon_as_they_let_go(walking) -> None:
    body, rig, limbs, motion, feet = walking
    cuboids = boxes(body)
    # Legs that hardly bend: feet creep ahead over the ground.
    shuffling = Motion(motion.root_position, 0.3 * motion.angles, motion.fps)
    stance = plan_stance(rig, cuboids, limbs, shuffling, feet=feet)
    lets_go = stance[:-1] & ~stance[1:]
    first = {}
    for brisk in (False, True):
        target = plant(rig, cuboids, limbs, shuffling, feet=feet, stance=stance, brisk=brisk)
        heights, velocity = contact_paths(feet, target.pose(rig), fps=24.0)
        first[brisk] = heights[1:][lets_go].mean() / limbs.leg_length
        both, speed = stance[1:] & stance[:-1], np.linalg.norm(velocity, axis=-1)
        assert speed[both].mean() < 0.1 * speed.max()
    assert first[True] > 1.5 * first[False] > 0


def test_a_motion_without_stance_is_only_lifted_out_of_the_ground(walking) -> None:
    body, rig, limbs, _, _ = walking
    rest = Motion.rest(rig, frames=3, fps=24.0)
    nobody = replace(limbs, legs=())
    down = torch.tensor([0.0, 5.0, 0.0], dtype=torch.float64)
    target = plant(rig, boxes(body), nobody, Motion(rest.root_position - down, rest.angles, 24.0))
    assert torch.equal(target.angles, rest.angles)
    torch.testing.assert_close(target.root_position, rest.root_position, atol=0.03, rtol=0)


def test_feet_that_sink_in_stance_stand_all_the_same(walking) -> None:
    body, rig, limbs, motion, feet = walking
    stance = plan_stance(rig, boxes(body), limbs, motion, feet=feet)
    # The front feet go 8 % of the leg into the ground while they stand: raising them bends the legs by much.
    down = np.zeros((len(motion), len(feet), 3))
    down[:, :2, 1] = np.where(stance[:, :2], -0.08 * limbs.leg_length, 0.0)
    sunk = move_feet(rig, feet, motion, down, leg_length=limbs.leg_length)
    meant = find_stance(track_feet(rig, limbs, sunk))[:, :2]
    planned = plan_stance(rig, boxes(body), limbs, sunk, feet=feet)[:, :2]
    assert (planned & meant).sum() > 0.9 * meant.sum()


def test_a_hop_without_a_step_is_no_swing(walking) -> None:
    body, rig, limbs, motion, feet = walking
    stance = plan_stance(rig, boxes(body), limbs, motion, feet=feet)
    first, last = max(runs(stance[:, 0]), key=lambda run: run[1] - run[0])
    middle = (first + last) // 2
    up = np.zeros((len(motion), len(feet), 3))
    up[middle - 1 : middle + 2, 0, 1] = 0.04 * limbs.leg_length
    hopping = move_feet(rig, feet, motion, up, leg_length=limbs.leg_length)
    assert not find_stance(track_feet(rig, limbs, hopping))[first:last, 0].all()
    assert plan_stance(rig, boxes(body), limbs, hopping, feet=feet)[first:last, 0].all()


def test_a_body_that_leaves_its_feet_is_not_thrown_and_comes_to_rest_on_the_ground(walking) -> None:
    """After the last stance the root's shift went on evenly, which threw the dying into the air."""
    body, rig, limbs, _, _ = walking
    planted = Planted.of(rig, boxes(body), limbs)
    stand, _ = make_motion(rig, limbs, "stand", frames=40, fps=24.0)
    stance = np.zeros((40, len(limbs.legs)), dtype=bool)
    stance[:8] = True
    weight, time = np.ones(stance.shape), torch.arange(40, dtype=torch.float64)

    def shifted(height: torch.Tensor) -> np.ndarray:
        moved = Motion(stand.root_position + torch.stack((0 * time, height, 0 * time), 1), stand.angles, stand.fps)
        return (carry_root(planted, moved, stance, weight).root_position - stand.root_position)[:, 1].numpy()

    # It sinks while it stands, and is thrown and falls then: on the ground it is raised, and no further.
    sinks = -0.01 * time.clamp(max=8)
    thrown = sinks + (2.5 * (time - 8).clamp(min=0) / 24 - GRAVITY * ((time - 8).clamp(min=0) / 24) ** 2 / 2).clamp(
        min=0
    )
    raised = shifted(thrown) - thrown.numpy()
    assert raised[6] == pytest.approx(0.06, abs=0.01)
    assert raised.max() < 0.12
    assert raised[-1] == pytest.approx(raised[10], abs=0.03)
    # It goes up and stays there: it comes down again.
    assert shifted(0.3 * ((time - 8) / 6).clamp(0, 1))[-10:].max() < 0.1


def test_more_rounds_are_never_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds after the second one push a bear's paws away from the ground again: the best is kept, not the last."""
    bear = creature("bear")
    anatomy = Anatomy.of(bear)
    walk, _ = make_motion(anatomy.rig, anatomy.limbs, "walk", frames=25, fps=24.0)
    feet = Planted.of(anatomy.rig, anatomy.cuboids, anatomy.limbs)
    off = []
    for rounds in (2, 6):
        monkeypatch.setattr("kinema.motion.plant.ROUNDS", rounds)
        grounded, stance = ground_feet(anatomy.rig, anatomy.cuboids, anatomy.limbs, walk)
        heights, _ = feet.paths(grounded)
        off.append(float(np.square(np.where(stance, heights, np.minimum(heights, 0.0))).sum()) ** 0.5)
    assert off[1] <= off[0] < 0.03 * anatomy.limbs.leg_length


def test_a_foot_that_only_planting_moves_goes_on_standing(walking) -> None:
    """Low and still before it is planted: a foot whose toes planting turns was let go, and hung above its place."""
    body, rig, limbs, motion, _ = walking
    planted, whole = Planted.of(rig, boxes(body), limbs), plan_stance(rig, boxes(body), limbs, motion)
    base, cut = carry_root(planted, motion, whole, np.ones(whole.shape)), whole.copy()
    for k, first, last in stances(whole):
        if last < len(whole) and last - first > 4:
            cut[last - 2 : last, k] = False
    offset = np.zeros((*whole.shape, 3))
    offset[::2, :, 2] = 0.1 * limbs.leg_length
    shaken = move_feet(rig, planted.feet, base, offset, leg_length=limbs.leg_length)
    lost = whole & ~cut
    assert lost.sum() >= 4
    assert (_until_they_move(planted, base, shaken, cut) & lost).sum() > 0.7 * lost.sum()
