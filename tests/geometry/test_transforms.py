import pytest
import torch
from scipy.spatial.transform import Rotation

from kinema.geometry import transforms as T

BOTH = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
TOLERANCE = {torch.float32: {"atol": 2e-6, "rtol": 2e-5}, torch.float64: {"atol": 1e-12, "rtol": 1e-12}}


def quaternions(count: int, dtype: torch.dtype, *, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(count, 4, dtype=dtype, generator=generator), dim=-1)


@BOTH
def test_quaternions_are_scipys_rotations(dtype: torch.dtype) -> None:
    q = quaternions(200, dtype)
    expected = torch.from_numpy(Rotation.from_quat(q.double().numpy()[:, [1, 2, 3, 0]]).as_matrix()).to(dtype)
    R = T.quaternion_to_matrix
    torch.testing.assert_close(R(q), expected, **TOLERANCE[dtype])
    torch.testing.assert_close(R(-q), R(q))
    torch.testing.assert_close(R(3 * q), R(q), **TOLERANCE[dtype])


@BOTH
def test_matrix_to_quaternion_is_stable_everywhere(dtype: torch.dtype) -> None:
    # Half turns about each axis are where the formula by the trace alone divides by zero.
    half_turns = torch.tensor([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0.6, 0.8, 0]], dtype=dtype)
    tiny = torch.tensor([[1.0, 1e-6, 0, 0], [1e-6, 1, 0, 0]], dtype=dtype)
    q = torch.cat((half_turns, torch.nn.functional.normalize(tiny, dim=-1), quaternions(100, dtype)))
    back = T.matrix_to_quaternion(T.quaternion_to_matrix(q))
    assert (back[:, 0] >= 0).all()
    same = (back * q).sum(-1).abs()
    torch.testing.assert_close(same, torch.ones_like(same), **TOLERANCE[dtype])


@BOTH
def test_euler_angles_are_three_turns_about_moving_axes(dtype: torch.dtype) -> None:
    angles = 3 * torch.randn(100, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    product = torch.eye(3, dtype=dtype)
    for axis in range(3):
        half = angles[:, axis] / 2
        q = torch.zeros(100, 4, dtype=dtype)
        q[:, 0], q[:, 1 + axis] = half.cos(), half.sin()
        product = product @ T.quaternion_to_matrix(q)
    torch.testing.assert_close(T.euler_to_matrix(angles), product, atol=1e-5, rtol=1e-5)


def test_euler_round_trip_and_at_the_gimbal() -> None:
    angles = torch.rand(500, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2 - 1
    angles = angles * torch.tensor([torch.pi, torch.pi / 2, torch.pi])
    torch.testing.assert_close(T.matrix_to_euler(T.euler_to_matrix(angles)), angles, atol=1e-7, rtol=0)
    locked = torch.tensor([[0.4, torch.pi / 2, 0.3], [0.4, -torch.pi / 2, 0.3]], dtype=torch.float64)
    matrix = T.euler_to_matrix(locked)
    torch.testing.assert_close(T.euler_to_matrix(T.matrix_to_euler(matrix)), matrix, atol=1e-7, rtol=0)


def test_gradients_match_finite_differences() -> None:
    q = quaternions(4, torch.float64).requires_grad_()
    angles = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.autograd.gradcheck(T.quaternion_to_matrix, q)
    assert torch.autograd.gradcheck(T.euler_to_matrix, angles)
    assert torch.autograd.gradcheck(lambda a: T.matrix_to_quaternion(T.euler_to_matrix(a)), angles)


def test_rotation_vectors_are_scipys_and_go_back() -> None:
    vectors = torch.randn(50, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    vectors[0] = 0.0
    vectors[1] = torch.tensor([0.0, 1e-7, 0.0])
    matrices = T.rotation_matrix(vectors)
    torch.testing.assert_close(matrices, torch.from_numpy(Rotation.from_rotvec(vectors.numpy()).as_matrix()))
    small = vectors[vectors.norm(dim=-1) < torch.pi]
    torch.testing.assert_close(T.rotation_vector(T.rotation_matrix(small)), small)
