"""Sampling and skinning by their equations."""

from pathlib import Path

import numpy as np
import pytest
import torch
from small_gltf import arm, tube

from kinema.asset.gltf.animation import Track, global_matrices, local_matrices, original_vertices, sample_track
from kinema.asset.gltf.document import read_document
from kinema.asset.gltf.geometry import read_parts
from kinema.asset.load import load
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_points

TIMES = np.array([0.0, 0.3, 1.0, 1.2])


def test_linear_values_reproduce_a_straight_line_and_hold_at_the_ends() -> None:
    line = TIMES[:, None] * [1.0, -2.0, 3.0] + 5
    track = Track(0, "translation", "LINEAR", TIMES, line, None)
    at = np.array([-1.0, 0.1, 0.65, 1.2, 9.0])
    np.testing.assert_allclose(sample_track(track, at), np.clip(at, 0, 1.2)[:, None] * [1.0, -2.0, 3.0] + 5)


def test_step_holds_until_the_next_key() -> None:
    track = Track(0, "scale", "STEP", TIMES, np.arange(12.0).reshape(4, 3), None)
    got = sample_track(track, np.array([0.0, 0.29, 0.3, 0.99, 1.0, 5.0]))[:, 0]
    np.testing.assert_array_equal(got, [0, 0, 3, 3, 6, 9])


def test_cubic_spline_reproduces_a_cubic() -> None:
    # Hermite interpolation with exact tangents is exact for p(t) = t³ - 2 t² + 3.
    value = (TIMES**3 - 2 * TIMES**2 + 3)[:, None] * np.ones(3)
    slope = (3 * TIMES**2 - 4 * TIMES)[:, None] * np.ones(3)
    track = Track(0, "translation", "CUBICSPLINE", TIMES, value, np.stack((slope, slope)))
    at = np.linspace(0, 1.2, 31)
    np.testing.assert_allclose(sample_track(track, at)[:, 0], at**3 - 2 * at**2 + 3, atol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_rotations_turn_at_constant_speed_the_short_way(sign: int) -> None:
    half = np.deg2rad([0.0, 80.0]) / 2
    xyzw = np.stack((np.sin(half), 0 * half, 0 * half, np.cos(half)), -1)
    xyzw[1] *= sign
    track = Track(0, "rotation", "LINEAR", np.array([0.0, 1.0]), xyzw, None)
    at = np.linspace(0, 1, 9)
    got = sample_track(track, at)
    np.testing.assert_allclose(2 * np.arctan2(got[:, 0], got[:, 3]), np.deg2rad(80) * at, atol=1e-12)


def test_a_matrix_node_is_its_translation_rotation_and_scale(tmp_path: Path) -> None:
    builder = arm()
    c, s = np.cos(0.4), np.sin(0.4)
    matrix = np.array([[2 * c, -3 * s, 0, 1], [2 * s, 3 * c, 0, 2], [0, 0, -1, 3], [0, 0, 0, 1]])
    builder.content["nodes"] += [
        {"matrix": matrix.T.ravel().tolist()},
        {"translation": [1, 2, 3], "rotation": [0, 0, np.sin(0.2), np.cos(0.2)], "scale": [2, 3, -1]},
    ]
    local = local_matrices(read_document(builder.write(tmp_path / "nodes.glb")))
    np.testing.assert_allclose(local[3], matrix)
    np.testing.assert_allclose(local[4], matrix, atol=1e-12)


def test_original_vertices_are_the_sum_of_weighted_joint_matrices(tmp_path: Path) -> None:
    document = read_document(arm().write(tmp_path / "arm.glb"))
    parts, _ = read_parts(document)
    got = original_vertices(document, parts, 0, np.array([1.0]))[0]
    # At the last key the elbow (0, 1, 0) is bent by 60 degrees about z.
    vertices, _ = tube()
    vertices = vertices.astype(np.float32).astype(np.float64)
    c, s = np.cos(np.deg2rad(60)), np.sin(np.deg2rad(60))
    bent = (vertices - [0, 1, 0]) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T + [0, 1, 0]
    weight = np.clip(vertices[:, 1:2] - 0.5, 0, 1)
    np.testing.assert_allclose(got, (1 - weight) * vertices + weight * bent, atol=1e-6)
    still = global_matrices(document, local_matrices(document))
    np.testing.assert_allclose(still[2, :3, 3], [0, 1, 0])


@pytest.mark.parametrize("interpolation", ["LINEAR", "STEP", "CUBICSPLINE"])
def test_a_clip_in_our_parameters_moves_the_vertices_as_the_file_does(tmp_path: Path, interpolation: str) -> None:
    rng = np.random.default_rng(1)
    rotations = rng.normal(0, 0.4, (3, 4)) + [0, 0, 0, 1]
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    moves = rng.normal(0, 0.3, (3, 3))
    if interpolation == "CUBICSPLINE":
        rotations = np.stack((rng.normal(0, 0.2, (3, 4)), rotations, rng.normal(0, 0.2, (3, 4))), 1).reshape(9, 4)
        moves = np.stack((rng.normal(0, 1, (3, 3)), moves, rng.normal(0, 1, (3, 3))), 1).reshape(9, 3)
    builder = arm(rotations=rotations, translation=moves)
    for sampler in builder.content["animations"][0]["samplers"]:
        sampler["interpolation"] = interpolation
    character = load(builder.write(tmp_path / "arm.glb"))
    document = character.source.document
    clip = character.clips[0]
    times = character.source.clip_start_s[0] + np.arange(len(clip.root_position)) / clip.fps
    expected = original_vertices(document, read_parts(document)[0], 0, times)
    expected = character.frame.scale * expected @ character.frame.rotation.T + character.frame.translation
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    skin = Skin.from_character(character, dtype=torch.float64)
    got = skin_points(
        blend(skin, rig, Motion.from_clip(rig, clip).pose(rig)), torch.from_numpy(character.mesh.vertices)
    )
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-5)
