"""Collecting: what is kept of a clip, and that a killed run goes on to the same shards."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.character import Character
from kinema.batch.blocks import block_command, collect_jobs
from kinema.cli.main import main
from kinema.collect.clips import different, poses_of_clip
from kinema.collect.collect import collect_block
from kinema.collect.compose import composed, free_parts
from kinema.collect.config import BLOCK, BLOCK_DONE, CollectPoses
from kinema.collect.distilled import auto_rigged, lifted
from kinema.errors import KinemaError
from kinema.motion.motion import Motion
from kinema.posespace.pose import Poses
from kinema.posespace.shards import read_shard, shard_path, shards_in
from kinema.posespace.skinned import Skinned
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def test_poses_of_a_clip_have_no_travel_and_stand_on_the_ground(fox: Character, rig: Rig, walk: Motion) -> None:
    body = Skinned.of(fox)
    high = Motion(walk.root_position + torch.tensor([3.0, 2.0, 5.0]), walk.angles, walk.fps)
    poses = poses_of_clip(body, high, most=6)
    assert len(poses) == 6
    # The whole clip hung two metres over the ground.
    torch.testing.assert_close(poses.height, poses_of_clip(body, walk, most=6).height, atol=0.02, rtol=0)
    assert abs(float(body.lowest(poses.place(rig)).quantile(0.1))) < 0.02


def test_joints_out_of_their_sockets_are_put_back_at_the_same_height(fox: Character, rig: Rig) -> None:
    body = Skinned.of(fox)
    shift = torch.zeros(2, len(rig.parents), 3)
    below = [j for j, p in enumerate(rig.parents) if p == 0]
    shift[:, below] = torch.tensor([0.0, -0.1, 0.0])
    root = rig.heads[:1].expand(2, 3) + torch.tensor([0.0, 0.1, 0.0])
    sunk = Motion(root, torch.zeros(2, len(rig.parents), 3), 1.0, shift)
    poses = poses_of_clip(body, sunk, most=2)
    # Root up and all below it down by as much: the body as it was, but for the root's own skin.
    torch.testing.assert_close(poses.height, torch.zeros(2), atol=0.02, rtol=0)


def test_a_pose_is_lifted_out_of_the_ground_by_itself(fox: Character, steps_of: Poses) -> None:
    body = Skinned.of(fox)
    sunk = Poses(steps_of.rotations[:3], torch.tensor([0.5, -0.3, -0.1]))
    found = lifted(body, sunk)
    assert float(found.height[0]) == 0.5  # a leap stays one
    low = body.lowest(found.place(body.rig))
    torch.testing.assert_close(low[1:], torch.zeros(2), atol=1e-5, rtol=0)


def test_poses_that_hardly_differ_are_one(steps_of: Poses) -> None:
    twice = Poses.cat([steps_of, steps_of])
    assert len(different(twice)) <= len(steps_of)
    assert len(different(Poses.cat([steps_of[:1]] * 5))) == 1


@pytest.fixture
def steps_of(rig: Rig, walk: Motion) -> Poses:
    return Poses.of_motion(rig, walk)


def test_procedural_poses_do_not_depend_on_interruptions(tmp_path: Path) -> None:
    whole, broken = (CollectPoses(out=tmp_path / name, source="procedural", bodies=2, block=0) for name in "ab")
    assert collect_block(whole) == 2

    def interrupt(_: dict) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect_block(broken, report=interrupt)
    assert not (broken.out / BLOCK_DONE).exists()
    assert collect_block(broken) == 2
    assert [entry["body"] for entry in json.loads((broken.out / BLOCK_DONE).read_text())] == [0, 1]
    for index in range(2):
        a, b = (read_shard(shard_path(tmp_path / name, "procedural", index)) for name in "ab")
        np.testing.assert_array_equal(a.six, b.six)
        assert a.captions == b.captions
        assert a.family == b.family
        assert len(a.height) >= 4


def test_bodies_are_shared_out_in_blocks_that_are_known_by_their_content() -> None:
    config = CollectPoses(source="procedural", bodies=BLOCK + 3)
    jobs = collect_jobs(config)
    assert [job.title for job in jobs] == [
        f"procedural bodies 0 to {BLOCK - 1}",
        f"procedural bodies {BLOCK} to {BLOCK + 2}",
    ]
    words = block_command(jobs[1], Path("runs/poses/key"))
    assert words[words.index("--block") + 1] == "1"
    assert words[words.index("-o") + 1] == "runs/poses/key"
    assert collect_jobs(replace(config, bodies=2 * BLOCK))[0].key == jobs[0].key
    assert not {job.key for job in collect_jobs(replace(config, seed=1))} & {job.key for job in jobs}


@pytest.mark.slow
def test_the_batch_collects_all_bodies_and_goes_on(tmp_path: Path) -> None:
    call = ["collect-poses", "--source", "procedural", "-o", str(tmp_path), "-q", "--workers", "2"]
    main([*call, "--bodies", "2"])
    first = {path: path.stat().st_mtime_ns for path in shards_in(tmp_path)}
    assert len(first) == 2
    main([*call, "--bodies", "2"])
    assert {path: path.stat().st_mtime_ns for path in shards_in(tmp_path)} == first


def test_recorded_poses_need_a_folder() -> None:
    with pytest.raises(KinemaError, match="--shared"):
        collect_jobs(CollectPoses(source="recorded"))


def test_composed_poses_have_the_legs_and_trunk_of_one_pose(fox: Character, steps_of: Poses) -> None:
    anatomy = Anatomy.of(fox)
    made = composed(anatomy, steps_of, 12, np.random.default_rng(0))
    free = [j for part in free_parts(anatomy.limbs) for j in part]
    held = [j for j in range(len(anatomy.rig.parents)) if j not in free]
    assert {j for leg in anatomy.limbs.legs for j in leg.joints} <= set(held)
    assert len(made) > 0
    for k in range(len(made)):
        own = (steps_of.rotations[:, held] == made.rotations[k, held]).flatten(1).all(1)
        assert int(own.sum()) == 1  # one pose of the clip
        assert not torch.equal(steps_of.rotations[own][0], made.rotations[k])
        assert float(made.height[k]) == float(steps_of.height[own][0])


def test_a_mesh_that_our_own_skeleton_takes_for_another_body_is_left_out(fox: Character) -> None:
    own = auto_rigged(fox)
    assert own is not None
    assert own.skeleton != fox.skeleton
    assert find_limbs(own).body == find_limbs(fox).body


@pytest.mark.slow
def test_distilled_poses_fit_their_videos(tmp_path: Path) -> None:
    config = CollectPoses(out=tmp_path, source="distilled", bodies=1, clips=3, block=0)
    assert collect_block(config) == len(list(shards_in(tmp_path)))
    for path in shards_in(tmp_path):
        shard = read_shard(path)
        assert shard.source == "distilled"
        assert np.isfinite(shard.six).all()
        assert np.abs(shard.six).max() > 0.05
