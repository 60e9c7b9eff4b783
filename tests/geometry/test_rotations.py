"""Rotations in numpy: group axioms, agreement with the torch functions, and laws of joint trees."""

import numpy as np
import pytest
import torch

from kinema.geometry import rotations, transforms

PARENTS = (-1, 0, 1, 1, 3, 0)


@pytest.fixture
def quaternions() -> np.ndarray:
    wxyz = np.random.default_rng(0).normal(size=(3, 50, 4))
    return wxyz / np.linalg.norm(wxyz, axis=-1, keepdims=True)


def test_matrices_and_quaternions_agree_with_torch(quaternions: np.ndarray) -> None:
    matrix = rotations.to_matrix(3 * quaternions)
    np.testing.assert_allclose(matrix, transforms.quaternion_to_matrix(torch.from_numpy(quaternions)), atol=1e-14)
    back = rotations.from_matrix(matrix)
    assert (back[..., 0] >= 0).all()
    np.testing.assert_allclose(back, transforms.matrix_to_quaternion(torch.from_numpy(matrix)), atol=1e-14)


def test_product_is_the_product_of_matrices(quaternions: np.ndarray) -> None:
    p, q, _ = quaternions
    product = rotations.to_matrix(rotations.multiply(p, q))
    np.testing.assert_allclose(product, rotations.to_matrix(p) @ rotations.to_matrix(q), atol=1e-14)


def test_slerp_turns_at_constant_rate_the_short_way(quaternions: np.ndarray) -> None:
    p, q, _ = quaternions
    np.testing.assert_allclose(rotations.slerp(p, q, 0.0), p, atol=1e-14)
    np.testing.assert_allclose(rotations.to_matrix(rotations.slerp(p, q, 1.0)), rotations.to_matrix(q), atol=1e-14)
    # |log(p⁻¹ slerp(p, q, t))| = t |log(p⁻¹ q)|; the angle between unit quaternions is 2 arccos |p · q|.
    whole = 2 * np.arccos(np.abs((p * q).sum(-1)))
    for t in (0.25, 0.5):
        part = 2 * np.arccos(np.clip((p * rotations.slerp(p, q, t)).sum(-1), -1, 1))
        np.testing.assert_allclose(part, t * whole, atol=1e-7)
    np.testing.assert_array_equal(rotations.slerp(p, -q, 0.3), rotations.slerp(p, q, 0.3))


def test_change_of_axes_is_a_conjugation(quaternions: np.ndarray) -> None:
    R = rotations.to_matrix(quaternions[0, 0])
    turned = rotations.to_matrix(rotations.change_axes(quaternions, R))
    np.testing.assert_allclose(turned, R @ rotations.to_matrix(quaternions) @ R.T, atol=1e-14)


def test_continuous_only_changes_signs(quaternions: np.ndarray) -> None:
    wxyz = quaternions.reshape(50, 3, 4)
    smooth = rotations.continuous(wxyz)
    assert ((smooth[1:] * smooth[:-1]).sum(-1) >= 0).all()
    np.testing.assert_array_equal(np.abs(smooth), np.abs(wxyz))


def test_zero_quaternion_is_normalized_to_identity() -> None:
    np.testing.assert_array_equal(rotations.normalize(np.zeros((2, 4))), [[1, 0, 0, 0]] * 2)


def test_joints_are_placed_in_their_parents_frames(quaternions: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    local = rotations.to_matrix(quaternions[:, : len(PARENTS)])
    offsets, root = rng.normal(size=(3, len(PARENTS), 3)), rng.normal(size=(3, 3))
    position, rotation = rotations.place_joints(PARENTS, offsets, local, root)
    np.testing.assert_array_equal(position[:, 0], root)
    for j, p in enumerate(PARENTS[1:], 1):
        # What a joint's frame looks like from its parent is the offset and the local rotation, whatever lies above.
        inverse = np.swapaxes(rotation[:, p], -1, -2)
        seen = np.einsum("bij,bj->bi", inverse, position[:, j] - position[:, p])
        np.testing.assert_allclose(seen, offsets[:, j], atol=1e-14)
        np.testing.assert_allclose(inverse @ rotation[:, j], local[:, j], atol=1e-14)


def test_offsets_place_the_heads_at_rest() -> None:
    heads = np.random.default_rng(2).normal(size=(len(PARENTS), 3))
    offsets = rotations.bone_offsets(PARENTS, heads)
    still = np.tile(np.eye(3), (len(PARENTS), 1, 1))
    np.testing.assert_allclose(rotations.place_joints(PARENTS, offsets, still, heads[0])[0], heads, atol=1e-15)


def test_trees() -> None:
    assert rotations.children(PARENTS) == [[1, 5], [2, 3], [], [4], [], []]
    assert rotations.depth_first(PARENTS) == [0, 1, 2, 3, 4, 5]
    assert rotations.depth_first((2, 0, -1, 2, -1)) == [2, 0, 1, 3, 4]
    assert rotations.depth_first((-1, 2, 1)) == [0]
    assert rotations.ancestors(PARENTS, 4) == [3, 1, 0]
    assert [rotations.is_below(PARENTS, j, 1) for j in range(6)] == [False, True, True, True, True, False]
    np.testing.assert_array_equal(rotations.subtree_sums(PARENTS, np.ones(6)), [6, 4, 1, 2, 1, 1])


def test_runs() -> None:
    assert rotations.runs(np.array([True, False, True, True, False, True])) == [(0, 1), (2, 4), (5, 6)]
    assert rotations.runs(np.zeros(3, dtype=bool)) == []
