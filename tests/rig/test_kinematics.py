import numpy as np
import torch

from kinema.asset.character import Skeleton
from kinema.geometry.transforms import euler_to_matrix
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig, forward_kinematics


def chain(rng: np.random.Generator, joints: int) -> Rig:
    parents = (-1, *(int(rng.integers(0, j)) for j in range(1, joints)))
    heads = rng.normal(size=(joints, 3))
    skeleton = Skeleton(tuple(f"j{j}" for j in range(joints)), parents, heads, heads + rng.normal(size=(joints, 3)))
    return Rig.from_skeleton(skeleton, dtype=torch.float64)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_kinematics_equals_the_recursive_definition_and_its_gradient() -> None:
    rig = chain(np.random.default_rng(1), 9)
    root = normal(2, 3, seed=1).requires_grad_()
    angles = normal(2, 9, 3).requires_grad_()
    T = forward_kinematics(rig, root, angles)
    for j, p in enumerate(rig.parents):
        R = rig.axes[j] @ euler_to_matrix(angles[:, j]) @ rig.axes[j].T
        R_parent = T[:, p, :, :3] if p >= 0 else torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
        head = root if p < 0 else T[:, p, :, 3] + (R_parent @ (rig.heads[j] - rig.heads[p]))
        torch.testing.assert_close(T[:, j, :, :3], R_parent @ R)
        torch.testing.assert_close(T[:, j, :, 3], head)
    assert torch.autograd.gradcheck(lambda r, a: forward_kinematics(rig, r, a), (root, angles))


def test_a_translation_moves_the_head_in_the_parents_frame_and_its_whole_subtree() -> None:
    rig = chain(np.random.default_rng(1), 9)
    root, angles = normal(2, 3, seed=1), normal(2, 9, 3)
    translation = normal(2, 9, 3, seed=2).requires_grad_()
    T, straight = forward_kinematics(rig, root, angles, translation), forward_kinematics(rig, root, angles)
    torch.testing.assert_close(T[..., :3], straight[..., :3], atol=0, rtol=0)
    torch.testing.assert_close(T[:, 0], straight[:, 0], atol=0, rtol=0)
    for j, p in enumerate(rig.parents):
        if p >= 0:
            # p_j = p_p + R_p (h_j - h_p + translation_j)
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
