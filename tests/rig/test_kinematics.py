import numpy as np
import torch

from kinema.asset.character import Skeleton
from kinema.geometry.transforms import euler_to_matrix, matrix_to_quaternion, quaternion_to_matrix
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig, forward_kinematics


def chain(rng: np.random.Generator, joints: int) -> Rig:
    parents = (-1, *(int(rng.integers(0, j)) for j in range(1, joints)))
    heads = rng.normal(size=(joints, 3))
    skeleton = Skeleton(tuple(f"j{j}" for j in range(joints)), parents, heads, heads + rng.normal(size=(joints, 3)))
    return Rig.from_skeleton(skeleton, dtype=torch.float64)


def test_quaternions_and_matrices_are_inverse() -> None:
    q = torch.nn.functional.normalize(torch.randn(1000, 4, dtype=torch.float64, generator=torch.manual_seed(0)), dim=-1)
    q = torch.where(q[:, :1] < 0, -q, q)
    torch.testing.assert_close(matrix_to_quaternion(quaternion_to_matrix(q)), q)


def test_kinematics_equals_the_recursive_definition_and_its_gradient() -> None:
    rig = chain(np.random.default_rng(1), 9)
    root = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    angles = torch.randn(2, 9, 3, dtype=torch.float64, requires_grad=True)
    T = forward_kinematics(rig, root, angles)
    for j, p in enumerate(rig.parents):
        R = rig.axes[j] @ euler_to_matrix(angles[:, j]) @ rig.axes[j].T
        R_parent = T[:, p, :, :3] if p >= 0 else torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
        head = root if p < 0 else T[:, p, :, 3] + (R_parent @ (rig.heads[j] - rig.heads[p]))
        torch.testing.assert_close(T[:, j, :, :3], R_parent @ R)
        torch.testing.assert_close(T[:, j, :, 3], head)
    assert torch.autograd.gradcheck(lambda r, a: forward_kinematics(rig, r, a), (root, angles))


def test_a_slide_moves_the_head_in_the_parents_frame_and_all_that_hangs_on_it() -> None:
    rig = chain(np.random.default_rng(1), 9)
    root, angles = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 9, 3, dtype=torch.float64)
    translation = torch.randn(2, 9, 3, dtype=torch.float64, requires_grad=True)
    T, straight = forward_kinematics(rig, root, angles, translation), forward_kinematics(rig, root, angles)
    torch.testing.assert_close(T[..., :3], straight[..., :3], atol=0, rtol=0)
    torch.testing.assert_close(T[:, 0], straight[:, 0], atol=0, rtol=0)
    for j, p in enumerate(rig.parents):
        if p >= 0:
            # p_j = p_p + R_p (h_j - h_p + slide_j)
            offset = (rig.heads[j] - rig.heads[p] + translation[:, j])[..., None]
            torch.testing.assert_close(T[:, j, :, 3], T[:, p, :, 3] + (T[:, p, :, :3] @ offset)[..., 0])
    assert torch.autograd.gradcheck(lambda s: forward_kinematics(rig, root, angles, s), (translation,))


def test_clip_and_motion_are_inverse_and_continuous_through_the_gimbal() -> None:
    rig = chain(np.random.default_rng(2), 4)
    t = torch.linspace(0, 1, 200, dtype=torch.float64)[:, None, None]
    angles = torch.cat((4 * t, torch.pi * t, 0.3 * t), -1).expand(-1, 4, 3)  # b crosses pi/2, a passes pi
    motion = Motion(torch.zeros(200, 3, dtype=torch.float64), angles, 24.0)
    back = Motion.from_clip(rig, motion.to_clip(rig))
    torch.testing.assert_close(back.pose(rig), motion.pose(rig), atol=1e-6, rtol=0)
    assert back.angles.diff(dim=0).abs().max() < 0.1
