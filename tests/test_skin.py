from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.errors import KinemaError
from kinema.geometry.transforms import apply, euler_to_matrix, quaternion_to_matrix
from kinema.rig.kinematics import Rig, forward_kinematics
from kinema.skin import Skin, blend, skin_covariances, skin_points


def random_rig(joints: int, *, seed: int = 0) -> Rig:
    rng = np.random.default_rng(seed)
    parents = (-1, *(int(rng.integers(0, j)) for j in range(1, joints)))
    heads = rng.normal(size=(joints, 3))
    names = tuple(f"j{j}" for j in range(joints))
    return Rig.from_skeleton(Skeleton(names, parents, heads, heads + rng.normal(size=(joints, 3))), dtype=torch.float64)


def random_skin(points: int, joints: int, *, seed: int = 0) -> Skin:
    weights = np.random.default_rng(seed).dirichlet(np.full(joints, 0.3), points)
    return Skin.from_dense(weights, dtype=torch.float64)


def random_points(count: int) -> torch.Tensor:
    return torch.randn(count, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(9))


def random_pose(rig: Rig, *, seed: int = 0, frames: int = 2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(frames, 3, dtype=torch.float64, generator=generator)
    angles = torch.randn(frames, len(rig.parents), 3, dtype=torch.float64, generator=generator)
    return forward_kinematics(rig, root, angles)


def test_skinning_equals_mujocos_dog(shared_data: Path) -> None:
    dog = np.load(shared_data / "reference" / "dog" / "dog.npz")
    pose = np.load(shared_data / "reference" / "dog" / "mujoco_reference_pose.npz")
    body = dog["bone_body"]
    weights = np.zeros((len(dog["vertices"]), len(body)))
    weights[dog["w_vert"], dog["w_bone"]] = dog["w_val"]
    # Joint frames have the world's axes at rest: R_world_joint = R_world_body R_world_bindᵀ.
    R_world_body = quaternion_to_matrix(torch.from_numpy(pose["xquat_wxyz"][body]))
    R_world_bind = quaternion_to_matrix(torch.from_numpy(dog["bone_bindquat_wxyz"]).double())
    origin = torch.from_numpy(pose["xpos"][body])
    T_world_joint = torch.cat((R_world_body @ R_world_bind.mT, origin[..., None]), -1)
    heads = dog["bone_bindpos"].astype(np.float64)
    names = tuple(f"bone{i}" for i in range(len(heads)))
    rig = Rig.from_skeleton(
        Skeleton(names, (-1,) + (0,) * (len(heads) - 1), heads, heads + [0, 1, 0]), dtype=torch.float64
    )
    skin = Skin.from_dense(weights, dtype=torch.float64)
    ours = skin_points(blend(skin, rig, T_world_joint), torch.from_numpy(dog["vertices"]).double())
    error = np.abs(ours.numpy() - pose["skinned"]).max()
    assert np.ptp(pose["skinned"], axis=0).max() > 0.5  # a real dog, posed far from its bind pose
    assert error < 1e-5


def test_the_rest_pose_moves_nothing() -> None:
    rig, skin = random_rig(7), random_skin(50, 7)
    rest = torch.cat((torch.eye(3, dtype=torch.float64).expand(7, 3, 3), rig.heads[..., None]), -1)
    points = random_points(50)
    torch.testing.assert_close(skin_points(blend(skin, rig, rest), points), points)


def test_a_rigid_motion_of_all_joints_moves_all_points_rigidly() -> None:
    # Σ w_i G T_i = G Σ w_i T_i because weights sum to one.
    rig, skin = random_rig(7), random_skin(50, 7)
    pose = random_pose(rig)
    G = torch.cat((euler_to_matrix(torch.tensor([0.3, -1.0, 2.0])).double(), torch.tensor([[1.0], [2], [3]])), -1)
    points = random_points(50)
    turned = torch.cat((G[:, :3] @ pose[..., :3], G[:, :3] @ pose[..., 3:] + G[:, 3:]), -1)
    moved = skin_points(blend(skin, rig, turned), points)
    still = skin_points(blend(skin, rig, pose), points)
    torch.testing.assert_close(moved, apply(G.expand(2, 3, 4), still))


def test_a_point_of_one_joint_keeps_its_place_in_the_joints_frame() -> None:
    rig = random_rig(5)
    skin = Skin(torch.arange(5)[:, None], torch.ones(5, 1, dtype=torch.float64))
    pose, points = random_pose(rig), random_points(5)
    posed = skin_points(blend(skin, rig, pose), points)
    local = (pose[..., :3].mT @ (posed - pose[..., 3])[..., None]).squeeze(-1)
    torch.testing.assert_close(local, (points - rig.heads).expand(2, 5, 3))


def test_sparse_influences_equal_the_dense_sum() -> None:
    rig, weights = random_rig(6), np.random.default_rng(0).dirichlet(np.full(6, 0.2), 40)
    weights[weights < 0.1] = 0
    weights /= weights.sum(-1, keepdims=True)
    skin = Skin.from_dense(weights, dtype=torch.float64)
    assert skin.joints.shape[1] == int((weights > 0).sum(-1).max())
    pose, points = random_pose(rig), random_points(40)
    dense = torch.zeros(2, 40, 3, dtype=torch.float64)
    for j in range(6):
        moved = (pose[:, j, :, :3] @ (points - rig.heads[j]).T).mT + pose[:, None, j, :, 3]
        dense += torch.from_numpy(weights[:, j])[:, None] * moved
    torch.testing.assert_close(skin_points(blend(skin, rig, pose), points), dense)


def test_covariances_are_those_of_skinned_samples() -> None:
    # For an affine map x -> A x + b of samples with covariance Σ the new covariance is A Σ Aᵀ.
    rig, skin = random_rig(4), random_skin(1, 4)
    blended = blend(skin, rig, random_pose(rig))
    generator = torch.Generator().manual_seed(0)
    samples = torch.randn(200, 3, dtype=torch.float64, generator=generator) @ torch.diag(
        torch.tensor([1.0, 0.5, 0.1]).double()
    )
    moved = skin_points(blended.expand(2, 200, 3, 4), samples)
    expected = torch.stack([frame.T.cov() for frame in moved])
    torch.testing.assert_close(skin_covariances(blended, samples.T.cov()[None])[:, 0], expected)


def test_gradients_match_finite_differences() -> None:
    rig, skin = random_rig(4), random_skin(3, 4)
    points = random_points(3)
    root = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    angles = random_points(4)[None].requires_grad_()
    weights = skin.weights.clone().requires_grad_()
    covariances = torch.eye(3, dtype=torch.float64).expand(3, 3, 3)

    def posed(root: torch.Tensor, angles: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        blended = blend(Skin(skin.joints, weights), rig, forward_kinematics(rig, root, angles))
        return skin_points(blended, points), skin_covariances(blended, covariances)

    assert torch.autograd.gradcheck(posed, (root, angles, weights))


def test_the_largest_influences_are_kept_and_sum_to_one() -> None:
    weights = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.0, 0.0, 1.0]])
    skin = Skin.from_dense(weights, most=2)
    torch.testing.assert_close(skin.weights, torch.tensor([[0.625, 0.375], [1.0, 0.0]]))
    assert skin.joints[0].tolist() == [0, 1]


def test_a_character_without_weights_is_refused() -> None:
    mesh = Mesh(np.zeros((3, 3)), np.array([[0, 1, 2]]), np.ones((3, 3)))
    with pytest.raises(KinemaError, match="ghost: has no skin weights"):
        Skin.from_character(Character("ghost", mesh))
