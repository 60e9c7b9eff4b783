"""Validators against finite differences, against the mesh's own contacts and against anatomy."""

import numpy as np
import pytest
import torch

from kinema.asset.character import Character
from kinema.motion.motion import Motion
from kinema.posespace.pose import Poses
from kinema.posespace.spheres import MOST, Spheres
from kinema.posespace.validate import JointRange, Validator, repair, rotation_vectors
from kinema.rig.hinges import joint_limits
from kinema.rig.kinematics import Rig, forward_kinematics, local_rotations
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def validator(fox: Character, steps: Poses) -> Validator:
    return Validator.of(fox, known=steps)


def crossed_legs(fox: Character, rig: Rig) -> Poses:
    """The left front leg through the right one, by half a radian about the forward axis."""
    angles = torch.zeros(2, len(rig.parents), 3)
    leg = find_limbs(fox).legs[0]
    angles[1, leg.joints[0], 1] = 1.0
    motion = Motion(rig.heads[:1].expand(2, 3), angles, 1.0)
    other = Motion(motion.root_position, -angles, 1.0)
    return Poses.cat([Poses.of_motion(rig, m) for m in (motion, other)])


def test_nothing_is_wrong_with_rest_and_little_with_a_walk(validator: Validator, steps: Poses) -> None:
    rest = validator.energy(Poses.rest(validator.rig))
    assert float(rest) == 0.0
    assert float(validator.energy(steps).quantile(0.8)) < 1.0


def test_legs_through_each_other_are_seen(validator: Validator, fox: Character, rig: Rig) -> None:
    found = validator.intersection(crossed_legs(fox, rig).place(rig))
    assert float(found[0]) == float(found[2]) == 0.0
    # One of the two directions leads into the other leg, the other one away from it.
    assert float(found[[1, 3]].max()) > 1.0


def test_repair_takes_legs_apart(validator: Validator, fox: Character, rig: Rig) -> None:
    from kinema.posespace.body import Body

    poses = crossed_legs(fox, rig)
    before = validator.energy(poses)
    after = validator.energy(repair(validator, poses, scale=Body.of(fox).scale))
    worst = int(before.argmax())
    assert float(after[worst]) < 0.2 * float(before[worst])


@pytest.mark.parametrize("name", ["intersection", "ground", "hyperextension"])
def test_gradients_are_those_of_finite_differences(validator: Validator, fox: Character, name: str) -> None:
    rig = validator.rig.to(torch.float64)
    assert validator.spheres is not None
    generator = torch.Generator().manual_seed(3)
    direction = torch.randn(len(rig.parents), 3, generator=generator, dtype=torch.float64)
    double = Validator(rig, validator.limbs, validator.spheres, validator.range)

    def energy(x: torch.Tensor) -> torch.Tensor:
        placed = forward_kinematics(rig, rig.heads[0] - torch.tensor([0.0, 0.1, 0.0]), x)
        rotations = local_rotations(rig, x)
        return getattr(double, name)(rotations if name == "hyperextension" else placed)

    # Random poses until one is wrong in the way that is asked for.
    tries = (0.8 * torch.randn(direction.shape, generator=generator, dtype=torch.float64) for _ in range(50))
    angles = next(x for x in tries if float(energy(x)) > 0)
    x = angles.clone().requires_grad_(True)
    value = energy(x)
    (slope,) = torch.autograd.grad(value, x)
    h = 1e-6
    finite = (energy(angles + h * direction) - energy(angles - h * direction)) / (2 * h)
    np.testing.assert_allclose(float((slope * direction).sum()), float(finite), rtol=1e-5, atol=1e-7)


def test_knees_that_bend_the_wrong_way_are_beyond_the_range_of_a_walk(fox: Character, rig: Rig, steps: Poses) -> None:
    # The sign comes from the poses alone; rig/hinges, which knows anatomy, is the judge.
    limits, limbs = joint_limits(fox, find_limbs(fox)), find_limbs(fox)
    found = JointRange.of_poses(steps.rotations)
    right = 0
    knees = [j for leg in limbs.legs for j in leg.joints[1 : leg.foot] if j in limits.hinges]
    for j in knees:
        axis = int((limits.upper[j] - limits.lower[j]).argmax())
        ahead, back = limits.upper[j, axis], limits.lower[j, axis]
        good, bad = (ahead, back) if ahead > -back else (back, ahead)
        angles = torch.zeros(2, len(rig.parents), 3)
        angles[0, j, axis], angles[1, j, axis] = 0.5 * good, np.sign(bad) * 0.5 * abs(good)
        excess = found.excess(local_rotations(rig, angles))
        right += int(excess[1] > excess[0])
    assert len(knees) >= 4
    assert right >= 0.75 * len(knees)


def test_rotation_vectors_are_angles_with_signs() -> None:
    angle = torch.tensor([-2.5, -0.3, 0.0, 1e-4, 1.0, 3.0], dtype=torch.float64)
    cos, sin, one, zero = angle.cos(), angle.sin(), torch.ones(6).double(), torch.zeros(6).double()
    about_y = torch.stack((cos, zero, sin, zero, one, zero, -sin, zero, cos), -1).view(-1, 1, 3, 3)
    expected = torch.stack((zero, 2 * torch.sin(angle / 2), zero), -1)[:, None]
    torch.testing.assert_close(rotation_vectors(about_y), expected, atol=1e-7, rtol=1e-7)


def test_spheres_are_few_and_move_with_their_limbs(fox: Character, rig: Rig, steps: Poses) -> None:
    spheres = Spheres.of(fox)
    assert 20 < len(spheres.radii) <= MOST
    torch.testing.assert_close(spheres.weights.sum(1), torch.ones(len(spheres.radii)))
    # A turn of the whole body moves spheres rigidly: distances stay.
    whole = Motion(rig.heads[:1], torch.tensor([[[0.7, 0.2, 0.1]] + [[0.0] * 3] * (len(rig.parents) - 1)]), 1.0)
    moved = spheres.posed(rig, whole.pose(rig))[0]
    apart = [torch.cdist(centers.double(), centers.double()) for centers in (moved, spheres.centers)]
    torch.testing.assert_close(*apart, atol=1e-4, rtol=1e-3)
