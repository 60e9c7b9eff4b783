"""The pose space with a toy network: what holds for every network. What the shipped one can do is measured in
benchmarks/posespace.py."""

import dataclasses
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.transforms import rotation_matrix
from kinema.motion.motion import Motion
from kinema.posespace.pose import Poses
from kinema.posespace.reach import Target, jacobian, metric_of, reach, residuals, turned
from kinema.posespace.solve import solve
from kinema.posespace.space import PoseSpace
from kinema.posespace.walk import Key, between, speeds
from kinema.rig.limbs import find_limbs


def joints_of(poses: Poses, space: PoseSpace) -> torch.Tensor:
    return poses.place(space.rig)[..., 3]


def paw(space: PoseSpace) -> int:
    return find_limbs(space.character).legs[0].joints[-1]


def test_samples_depend_on_the_seed_alone(space: PoseSpace) -> None:
    first, again, other = (space.sample(4, seed=s) for s in (1, 1, 2))
    torch.testing.assert_close(first.rotations, again.rotations)
    assert not torch.allclose(first.rotations, other.rotations)
    identity = first.rotations @ first.rotations.mT
    torch.testing.assert_close(identity, torch.eye(3).expand_as(identity), atol=1e-5, rtol=0)
    assert (torch.linalg.det(first.rotations) > 0).all()


def test_poses_survive_inversion(space: PoseSpace, steps: Poses) -> None:
    back = space.decode(space.invert(steps[:4]))
    away = (joints_of(back, space) - joints_of(steps[:4], space)).norm(dim=-1).max()
    assert float(away) < 0.01 * space.body.scale


def test_a_walk_is_exact_at_its_ends_and_even(space: PoseSpace, steps: Poses) -> None:
    a, b = steps[[0]], steps[[8]]
    poses = space.walk(a, b, 12)
    assert len(poses) == 12
    for end, k in ((a, 0), (b, 11)):
        torch.testing.assert_close(poses.rotations[k], end.rotations[0], atol=1e-4, rtol=0)
        torch.testing.assert_close(poses.height[k], end.height[0], atol=1e-5, rtol=0)
    speed = speeds(space.rig, poses)
    assert float(speed.max() / speed.mean()) < 1.3


def test_the_way_between_equal_poses_stands_still(space: PoseSpace, steps: Poses) -> None:
    poses = space.walk(steps[[3]], steps[[3]], 5)
    torch.testing.assert_close(poses.rotations, steps[[3] * 5].rotations, atol=1e-4, rtol=0)


def test_between_takes_the_shorter_way(space: PoseSpace, steps: Poses) -> None:
    half = between(steps[:2], torch.tensor([0.0, 0.5, 1.0]))
    torch.testing.assert_close(half.rotations[0], steps.rotations[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(half.rotations[2], steps.rotations[1], atol=1e-5, rtol=0)
    turns = [half.rotations[k].mT @ half.rotations[k + 1] for k in (0, 1)]
    torch.testing.assert_close(*(t.diagonal(dim1=-2, dim2=-1).sum(-1) for t in turns), atol=1e-4, rtol=0)


def test_the_jacobian_is_that_of_finite_differences(space: PoseSpace, steps: Poses) -> None:
    rig, joint = space.rig.to(torch.float64), paw(space)
    pose = Poses(steps.rotations[:1].double(), steps.height[:1].double())
    targets = [
        Target(joint, position=(0.1, 0.2, 0.3), point=(0.0, -0.02, 0.05)),
        Target(joint, rotation=pose.place(rig)[0, joint, :, :3]),
    ]
    free = torch.ones(len(rig.parents), dtype=torch.bool)
    J = jacobian(rig, pose.place(rig), targets, 1.0, free)[0]
    h = 1e-6
    for column in (3 * joint, 3 * rig.parents[joint] + 1, 3 * rig.parents[rig.parents[joint]] + 2, J.shape[1] - 1):
        missing = []
        for sign in (1, -1):
            turn = torch.zeros(1, len(rig.parents), 3, dtype=torch.float64)
            height = pose.height.clone()
            if column < J.shape[1] - 1:
                turn.view(1, -1)[0, column] = sign * h
            else:
                height += sign * h
            changed = Poses(turned(pose.rotations, turn), height)
            missing.append(residuals(rig, changed.place(rig), targets, 1.0)[0])
        finite = -(missing[0] - missing[1]) / (2 * h)
        np.testing.assert_allclose(J[:, column].numpy(), finite.numpy(), atol=1e-6)


def test_a_target_within_reach_is_met(space: PoseSpace) -> None:
    joint = paw(space)
    rest = joints_of(Poses.rest(space.rig), space)[0, joint]
    wanted = rest + torch.tensor([0.02, 0.08, 0.1]) * space.body.scale
    found = space.solve([Target(joint, tuple(wanted.tolist()))], plausible=0.3)
    assert len(found.poses) == 1
    assert found.misses[0] < 0.003 * space.body.scale
    reached = joints_of(found.poses, space)[0, joint]
    np.testing.assert_allclose(float((reached - wanted).norm()), found.misses[0], atol=1e-4)


def test_joints_that_turn_together_in_known_poses_do_so_to_reach(space: PoseSpace) -> None:
    near, far = (leg.joints[0] for leg in find_limbs(space.character).legs[:2])
    known = Poses.rest(space.rig, 40)
    swing = rotation_matrix(torch.linspace(-0.6, 0.6, 40)[:, None] * torch.tensor([1.0, 0.0, 0.0]))
    rotations = known.rotations.clone()
    rotations[:, near], rotations[:, far] = swing, swing.mT
    metric = metric_of(Poses(rotations, known.height), space.body.scale)
    start, foot = Poses.rest(space.rig), find_limbs(space.character).legs[0].joints[-1]
    place = joints_of(Poses(rotations[[30]], known.height[:1]), space)[0, foot]
    wished = [Target(foot, tuple(place.tolist()))]
    found = reach(space.rig, start, wished, scale=space.body.scale, metric=metric)
    alone = reach(space.rig, start, wished, scale=space.body.scale)
    away = [(p.rotations[0] - rotations[30]).norm() for p in (found, alone)]
    assert float((joints_of(found, space)[0, foot] - place).norm()) < 0.005 * space.body.scale
    assert away[0] < 0.4 * away[1]
    torch.testing.assert_close(alone.rotations[0, far], torch.eye(3))


@pytest.mark.parametrize("plausible", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("away", [2.0, 12.0])
def test_a_target_out_of_reach_is_approached_and_says_by_how_much(
    space: PoseSpace, plausible: float, away: float
) -> None:
    joint, rig = paw(space), space.rig
    chain = [joint]
    while rig.parents[chain[-1]] >= 0:
        chain.append(rig.parents[chain[-1]])
    length = sum(float((rig.heads[a] - rig.heads[b]).norm()) for a, b in itertools.pairwise(chain))
    far = rig.heads[0] + torch.tensor([0.0, 0.0, away * space.body.scale])
    found = space.solve([Target(joint, tuple(far.tolist()))], plausible=plausible)
    reached = float((joints_of(found.poses, space)[0, joint] - far).norm())
    assert found.misses[0] == pytest.approx(reached, rel=1e-3)
    # A straight chain is as near as it comes.
    assert reached < away * space.body.scale - 0.93 * length


def test_pins_stay_and_frozen_joints_do_not_turn(space: PoseSpace, steps: Poses) -> None:
    legs, start = find_limbs(space.character).legs, steps[[2]]
    moved, pinned, frozen = legs[0].joints[-1], legs[3].joints[-1], legs[1].joints
    places = joints_of(start, space)[0]
    wanted = places[moved] + torch.tensor([0.0, 0.06, 0.05]) * space.body.scale
    found = space.solve([Target(moved, tuple(wanted.tolist()))], start=start, pins=[pinned], frozen=frozen)
    after = joints_of(found.poses, space)[0]
    assert float((after[pinned] - places[pinned]).norm()) < 0.01 * space.body.scale
    for joint in frozen:
        torch.testing.assert_close(found.poses.rotations[0, joint], start.rotations[0, joint], atol=1e-4, rtol=0)


def test_a_target_to_which_the_space_does_not_lead_is_met_by_each_joint_alone(space: PoseSpace, steps: Poses) -> None:
    joint, start, freedoms = paw(space), steps[[0]], 3 * len(space.rig.parents) + 1
    wanted = joints_of(start, space)[0, joint] + torch.tensor([0.0, 0.05, 0.04]) * space.body.scale
    lame = 1e-9 * torch.eye(freedoms)  # nothing turns
    found = solve(
        space.rig, lambda values, _: values, start, [Target(joint, tuple(wanted.tolist()))], scale=space.body.scale,
        plausible=0.0, generator=torch.Generator().manual_seed(0), metric=lame,
    )  # fmt: skip
    assert found.misses[0] < 2e-3 * space.body.scale


def test_a_head_looks_where_it_is_told(space: PoseSpace) -> None:
    head = find_limbs(space.character).head
    assert head is not None
    at = (1.0 * space.body.scale, 0.4 * space.body.scale, 1.0 * space.body.scale)
    found = space.solve([Target(head, look_at=at)], plausible=0.0)
    placed = found.poses.place(space.rig)[0, head]
    ahead, wanted = placed[:, 2], torch.nn.functional.normalize(torch.tensor(at) - placed[:, 3], dim=0)
    assert float(ahead @ wanted) > np.cos(0.1)


def test_keyframes_are_exact(space: PoseSpace, steps: Poses) -> None:
    keys = [Key(0.0, steps[[0]]), Key(0.5, steps[[6]]), Key(1.0, steps[[12]])]
    for planted in (False, True):
        motion = space.keyframes(keys, fps=12.0, plant_feet=planted)
        assert len(motion) == 13
        for frame, key in zip((0, 6, 12), keys):
            got = Poses.of_motion(space.rig, motion)[[frame]]
            away = (joints_of(got, space) - joints_of(key.pose, space)).norm(dim=-1).max()
            assert float(away) < 1e-3 * space.body.scale


def test_uncertainty_rises_on_unlike_bodies(space: PoseSpace, toy_weights) -> None:
    from kinema.create.creatures import creature

    strange = PoseSpace.of(creature("spider"), weights=toy_weights)
    assert strange.strangeness > 5 * max(space.strangeness, 0.1)
    rest = [s.score(Poses.rest(s.rig)) for s in (space, strange)]
    assert rest[0].uncertainty < 0.2 < 0.9 < rest[1].uncertainty


def test_bad_input_is_one_line(space: PoseSpace, steps: Poses, fox: Character) -> None:
    with pytest.raises(KinemaError, match=r"out of order: 0\.5 s does not come after 1 s"):
        space.keyframes([Key(1.0, steps[[0]]), Key(0.5, steps[[1]])])
    with pytest.raises(KinemaError, match="needs two or more"):
        space.keyframes([Key(1.0, steps[[0]])])
    with pytest.raises(KinemaError, match="joint 999"):
        space.solve([Target(999, (0.0, 0.0, 0.0))])
    with pytest.raises(KinemaError, match="not finite"):
        space.solve([Target(1, (float("nan"), 0.0, 0.0))])
    with pytest.raises(KinemaError, match="no target"):
        space.solve([])
    with pytest.raises(KinemaError, match="not finite"):
        space.project(Poses(steps.rotations[:1] * torch.nan, steps.height[:1]))
    with pytest.raises(KinemaError, match="does not fit"):
        space.walk(Poses(steps.rotations[:1, :-1], steps.height[:1]), steps[[0]], 4)
    with pytest.raises(KinemaError, match="does not fit"):
        Poses.of_motion(space.rig, Motion(torch.zeros(1, 3), torch.zeros(1, 3, 3), 1.0))
    with pytest.raises(KinemaError, match="no joints"):
        PoseSpace.of(dataclasses.replace(fox, skeleton=None, weights=None))
    with pytest.raises(KinemaError, match="0 poses"):
        space.sample(0)


def test_the_example_of_the_docs_runs(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    page = Path(__file__).parents[2] / "docs" / "posespace.md"
    code, *_ = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert (tmp_path / "keys.glb").stat().st_size > 1000
    assert "plausibility" in capsys.readouterr().out


def test_the_shipped_weights_are_small_and_say_what_they_were_trained_on() -> None:
    from kinema.posespace.weights import WEIGHTS, Trained

    assert WEIGHTS.stat().st_size < 8e6
    note = Trained.load().note
    assert sum(note["poses"].values()) > 1000
    assert set(note["poses"]) <= {"distilled", "recorded", "procedural"}


def test_weights_of_something_else_are_refused(fox: Character, tmp_path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"no weights")
    with pytest.raises(KinemaError, match="not weights of a pose space"):
        PoseSpace.of(fox, weights=path)
    with pytest.raises(KinemaError, match="train-poses"):
        PoseSpace.of(fox, weights=tmp_path / "missing.safetensors")
