"""Cleaning of synthetic rigs with every irregularity, and properties of the fit."""

import re
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from small_gltf import Builder, arm, tube

from kinema.asset.gltf.animation import original_vertices
from kinema.asset.gltf.geometry import read_parts
from kinema.asset.load import load
from kinema.asset.rigs.cleanup import RawRig, clean_rig
from kinema.asset.rigs.cleanup_fit import Extremes, Targets, file_poses, fit_rotations, translations
from kinema.geometry.rotations import bone_offsets, depth_first, joint_positions, nearest_rotation


def _moments(clouds: list[np.ndarray]) -> np.ndarray:
    homogeneous = [np.concatenate((cloud, np.ones((len(cloud), 1))), -1) for cloud in clouds]
    return np.stack([points.T @ points for points in homogeneous])


def _leg() -> RawRig:
    """Hips > thigh > shin, a foot that is a root of its own, a control above all and an idle pole."""
    names = ("control", "hips", "thigh", "shin", "pole", "foot")
    heads = np.array([[0, 0, 0], [0, 2, 0], [0, 2, 0.1], [0, 1, 0.1], [0, 1, 3], [0, 0.1, 0.1]], dtype=float)
    tips = heads + [0, -0.3, 0]
    tips[3] = heads[5]
    rng = np.random.default_rng(0)
    clouds = [head + rng.normal(0, 0.1, (20, 3)) for head in heads]
    clouds[0] = clouds[4] = np.zeros((0, 3))
    return RawRig(names, (-1, 0, 1, 2, 0, -1), heads, tips, _moments(clouds), 2.0)


def test_hundreds_of_roots_are_joined_soon() -> None:
    """All to the one that is heavier; trying every tree against every joint for every trunk took hours."""
    count, rng = 400, np.random.default_rng(0)
    heads = np.stack((np.arange(count), np.zeros(count), np.zeros(count)), -1).astype(float)
    clouds = [head + rng.normal(0, 0.1, (20 if j == 7 else 4, 3)) for j, head in enumerate(heads)]
    names = tuple(map(str, range(count)))
    raw = RawRig(names, (-1,) * count, heads, heads + [0, 0.5, 0], _moments(clouds), float(count))
    begin = time.process_time()
    clean = clean_rig(raw, np.zeros((0, count, 3, 4)))
    assert time.process_time() - begin < 10
    assert clean.joints[0] == 7
    assert clean.parents == (-1,) + (0,) * (count - 1)


def _rigid_motion(raw: RawRig, parents: tuple[int, ...], *, frames: int, seed: int) -> np.ndarray:
    """F of a tree that only rotates, with a travelling root."""
    rng = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(rng.normal(0, 0.4, (frames * len(parents), 3))).as_matrix()
    turns = turns.reshape(frames, len(parents), 3, 3)
    maps = np.zeros((frames, len(parents), 3, 4))
    for j in depth_first(parents):
        head = raw.heads[j]
        local = np.concatenate((turns[:, j], (head - turns[:, j] @ head)[..., None]), -1)
        if parents[j] < 0:
            maps[:, j] = local
            maps[:, j, :, 3] += rng.normal(0, 0.5, (frames, 3))
        else:
            above = maps[:, parents[j]]
            maps[:, j, :, :3] = above[..., :3] @ local[..., :3]
            maps[:, j, :, 3] = (above[..., :3] @ local[..., 3:])[..., 0] + above[..., 3]
    return maps


def test_a_foot_that_is_a_root_becomes_a_child_of_the_shin_by_its_position_alone() -> None:
    raw = _leg()
    clean = clean_rig(raw, np.zeros((0, 6, 3, 4)))
    names = [raw.names[j] for j in clean.joints]
    assert names == ["hips", "thigh", "shin", "foot"]
    assert clean.parents == (-1, 0, 1, 2)
    text = "\n".join(clean.changes)
    assert "pole" in text
    assert "re-parented foot" in text
    assert "dropped root control" in text


def test_clips_decide_against_the_nearest_bone() -> None:
    # The foot lies at the shin's end but moves with the hips: it is no foot.
    raw = _leg()
    truth = (-1, 0, 1, 2, 0, 1)
    clean = clean_rig(raw, _rigid_motion(raw, truth, frames=12, seed=3))
    place = {raw.names[j]: i for i, j in enumerate(clean.joints)}
    assert clean.parents[place["foot"]] == place["hips"]


def test_parents_come_before_children_and_everything_is_carried() -> None:
    raw = _leg()
    clean = clean_rig(raw, _rigid_motion(raw, (-1, 0, 1, 2, 0, 3), frames=5, seed=1))
    assert clean.parents[0] == -1
    assert all(-1 < parent < joint for joint, parent in enumerate(clean.parents) if joint)
    assert all(0 <= joint < len(clean.joints) for joint in clean.carrier)
    assert [clean.joints[clean.carrier[j]] for j in clean.joints] == list(clean.joints)


def test_a_tree_that_only_rotates_is_reproduced_exactly() -> None:
    raw = _leg()
    truth = (-1, 0, 1, 2, 0, 3)
    motion = _rigid_motion(raw, truth, frames=20, seed=2)
    clean = clean_rig(raw, motion)
    targets = Targets.from_motion(motion, raw.moments, clean.carrier)
    kept = list(clean.joints)
    root, rotation, error = fit_rotations(motion[:, kept], targets, raw.heads[kept], clean.parents, size=raw.size)
    np.testing.assert_allclose(rotation, motion[:, kept, :, :3], atol=1e-9)
    np.testing.assert_allclose(root, (motion[:, kept[0], :, :3] @ raw.heads[kept[0]]) + motion[:, kept[0], :, 3])
    assert error.max() < 1e-6


def _stretched() -> tuple[RawRig, np.ndarray, tuple[int, ...]]:
    raw = _leg()
    keep = [1, 2, 3, 5]
    raw = RawRig(
        tuple(raw.names[j] for j in keep), (-1, 0, 1, 2), raw.heads[keep], raw.tips[keep], raw.moments[keep], raw.size
    )
    motion = _rigid_motion(raw, raw.parents, frames=8, seed=5)
    motion[..., 3] += np.random.default_rng(6).normal(0, 0.05, motion.shape[:3])
    return raw, motion, raw.parents


def _energy(raw: RawRig, motion: np.ndarray, root: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Σ_j Σ_v w |F x - (R (x - h) + p)|², by the definition."""
    position = joint_positions(raw.parents, bone_offsets(raw.parents, raw.heads), rotation, root)
    ours = np.concatenate((rotation, (position - (rotation @ raw.heads[..., None])[..., 0])[..., None]), -1)
    return np.einsum("tjab,jbc,tjac->t", ours - motion, raw.moments, ours - motion)


def test_the_fit_is_a_minimum_and_better_than_the_files_own_rotations() -> None:
    raw, motion, parents = _stretched()
    targets = Targets.from_motion(motion, raw.moments, (0, 1, 2, 3))
    root, rotation, error = fit_rotations(motion, targets, raw.heads, parents, size=raw.size, sweeps=400)
    reached = _energy(raw, motion, root, rotation)
    np.testing.assert_allclose(error * raw.size, np.sqrt(reached / raw.moments[:, 3, 3].sum()), rtol=1e-6)
    first = motion[:, 0, :, :3] @ raw.heads[0] + motion[:, 0, :, 3]
    assert (reached < 0.9 * _energy(raw, motion, first, nearest_rotation(motion[..., :3]))).all()
    rng = np.random.default_rng(7)
    for _ in range(20):
        nudge = Rotation.from_rotvec(rng.normal(0, 0.03, (rotation.shape[0] * rotation.shape[1], 3))).as_matrix()
        nudged = nudge.reshape(rotation.shape) @ rotation
        assert (_energy(raw, motion, root + rng.normal(0, 0.01, root.shape), nudged) > reached).all()


def test_translations_place_joints_where_the_file_has_them_and_are_zero_where_it_only_rotates() -> None:
    raw, motion, parents = _stretched()
    position, rotation = file_poses(motion, raw.heads)
    translation, _ = translations(position, rotation, raw.heads, parents, least=1e-5 * raw.size)
    placed = joint_positions(parents, bone_offsets(parents, raw.heads) + translation, rotation, position[:, 0])
    np.testing.assert_allclose(placed, position, atol=1e-9)
    assert np.abs(translation[:, 1:]).max() > 0.01
    still = _rigid_motion(raw, parents, frames=8, seed=5)
    still[:, 1:, :, 3] += 1e-7
    assert not translations(*file_poses(still, raw.heads), raw.heads, parents, least=1e-5 * raw.size)[0].any()


def _loose_elbow() -> Builder:
    """An arm whose elbow moves in its parent by 0.2 and comes back half the way."""
    builder = arm(translation=[[0, 1, 0], [0.2, 1, 0], [0.1, 1, 0]])
    builder.content["animations"][0]["channels"][1]["target"]["node"] = 2
    return builder


def test_only_a_clip_that_moves_joints_in_their_parents_has_translations(tmp_path: Path) -> None:
    character = load(_loose_elbow().write(tmp_path / "loose.glb"), up="+y", facing="+z", scale=1.0, ground=0.0)
    clip = character.clips[0]
    assert clip.translation is not None
    at = np.linspace(0, len(clip.translation) - 1, 3).astype(int)
    np.testing.assert_allclose(clip.translation[at, 1], [[0, 0, 0], [0.2, 0, 0], [0.1, 0, 0]], atol=1e-6)
    assert any(
        "1 of 1 clips move joints in their parents (kept as translations): elbow" in line for line in character.changes
    )
    plain = load(arm().write(tmp_path / "plain.glb"))
    assert plain.clips[0].translation is None


def test_the_worst_vertex_of_a_stretched_bone_is_told_with_its_joint(tmp_path: Path) -> None:
    # The elbow becomes 1.5 times as large: the end of the arm, 1 beyond it, is 0.5 off at a height of 2.
    builder = arm(translation=[[1, 1, 1], [1.5, 1.5, 1.5], [1, 1, 1]])
    builder.content["animations"][0]["channels"][1]["target"] = {"node": 2, "path": "scale"}
    character = load(builder.write(tmp_path / "swollen.glb"), up="+y", facing="+z", scale=1.0, ground=0.0)
    line = next(line for line in character.changes if "cannot follow" in line)
    # The corner of the end is (0.15, 1, 0.15) from the elbow and not moved by it; the nearest rotations of the whole
    # arm share out some of the 0.5.
    off = float(re.search(r"elbow by ([\d.]+) %", line)[1])
    assert 15 < off < 100 * 0.5 * np.linalg.norm([0.15, 1, 0.15]) / 2
    assert "worst in bend" in line


def test_extremes_hold_the_vertex_that_any_map_takes_furthest() -> None:
    rng = np.random.default_rng(3)
    vertices, weights = rng.normal(0, 1, (3000, 3)), np.eye(4)[rng.integers(0, 4, 3000)]
    some = Extremes.of(vertices, weights)
    assert len(some.points) <= 4 * 26
    motion, other = rng.normal(0, 1, (20, 4, 3, 4)), rng.normal(0, 1, (20, 4, 3, 4))
    every = Extremes(vertices, weights).errors(motion, other).max()
    assert 0.9 * every <= some.errors(motion, other).max() <= every + 1e-12


def test_nearest_rotation_is_the_polar_factor_and_never_a_mirror() -> None:
    rng = np.random.default_rng(0)
    turn = Rotation.from_rotvec(rng.normal(0, 1, (50, 3))).as_matrix()
    stretch = np.eye(3) + 0.3 * rng.normal(0, 1, (50, 3, 1)) * np.swapaxes(rng.normal(0, 1, (50, 3, 1)), 1, 2)
    stretch = stretch @ np.swapaxes(stretch, 1, 2)
    np.testing.assert_allclose(nearest_rotation(turn @ stretch), turn, atol=1e-9)
    mirrored = nearest_rotation(turn @ np.diag([1, 1, -1.0]))
    np.testing.assert_allclose(np.linalg.det(mirrored), 1)


def _scaled_arm(scale: list[float]) -> Builder:
    """The arm below a node with scale, negative or uneven, with the binding that keeps its shape."""
    builder = arm()
    inverse = np.tile(np.eye(4), (2, 1, 1))
    inverse[1, 1, 3] = -1
    inverse = np.linalg.inv(np.diag([*scale, 1])) @ np.linalg.inv(np.linalg.inv(inverse))
    builder.content["nodes"][1]["scale"] = scale
    builder.content["nodes"][2]["translation"] = (np.array([0, 1, 0]) / scale).tolist()
    builder.content["nodes"][2]["scale"] = (1 / np.array(scale)).tolist()
    inverse[1] = np.eye(4)
    inverse[1, 1, 3] = -1
    builder.content["skins"][0]["inverseBindMatrices"] = builder.accessor(inverse.transpose(0, 2, 1))
    return builder


@pytest.mark.parametrize("scale", [[1.0, 2.0, 0.5], [-1.0, 1.0, 1.0], [3.0, 3.0, 3.0]])
def test_scaled_and_mirrored_joints_become_part_of_the_rest_pose(tmp_path: Path, scale: list[float]) -> None:
    character = load(_scaled_arm(scale).write(tmp_path / "scaled.glb"))
    plain = load(arm().write(tmp_path / "plain.glb"))
    assert character.skeleton is not None
    assert plain.skeleton is not None
    np.testing.assert_allclose(character.mesh.vertices, plain.mesh.vertices, atol=1e-6)
    np.testing.assert_allclose(character.skeleton.heads, plain.skeleton.heads, atol=1e-6)
    document = character.source.document
    moved = original_vertices(document, read_parts(document)[0], 0, np.array([0.5]))
    assert np.isfinite(moved).all()
    if scale[0] < 0:
        assert any("mirrored" in line for line in character.changes)
    elif len(set(scale)) > 1:
        assert any("non-uniform scale" in line for line in character.changes)


def test_a_file_that_stands_in_another_pose_than_its_bind_pose_rests_in_the_bind_pose(tmp_path: Path) -> None:
    builder = arm()
    builder.content["nodes"][2]["rotation"] = [0, 0, float(np.sin(0.5)), float(np.cos(0.5))]
    character = load(builder.write(tmp_path / "posed.glb"))
    np.testing.assert_allclose(character.mesh.vertices, tube()[0], atol=1e-6)


def test_a_mesh_that_moves_with_its_node_becomes_a_rig_without_a_skin(tmp_path: Path) -> None:
    builder = arm()
    for key in ("JOINTS_0", "WEIGHTS_0"):
        del builder.content["meshes"][0]["primitives"][0]["attributes"][key]
    builder.content["nodes"] = [
        {"name": "body", "mesh": 0, "children": [1]},
        {"name": "hinge", "children": [2], "translation": [0, 2, 0]},
        {"name": "lid", "mesh": 0},
    ]
    builder.content["scenes"] = [{"nodes": [0]}]
    del builder.content["skins"]
    for animation in builder.content["animations"]:
        animation["channels"][0]["target"]["node"] = 1
        animation["channels"].append({"sampler": 0, "target": {"node": 0, "path": "rotation"}})
    character = load(builder.write(tmp_path / "lid.glb"))
    assert character.skeleton is not None
    assert character.skeleton.names == ("body", "hinge")
    assert character.weights is not None
    count = len(tube()[0])
    np.testing.assert_array_equal(character.weights, np.repeat(np.eye(2), count, 0))
