"""Rotations and affine transforms in torch. Quaternions are wxyz; `T_a_b` maps b-coordinates to a."""

import torch
from jaxtyping import Float
from torch import Tensor


def quaternion_to_matrix(wxyz: Float[Tensor, "*b 4"]) -> Float[Tensor, "*b 3 3"]:
    """Rotation matrix of a quaternion of any non-zero length."""
    w, x, y, z = (wxyz / wxyz.norm(dim=-1, keepdim=True)).unbind(-1)
    rows = (
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    )  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def matrix_to_quaternion(matrix: Float[Tensor, "*b 3 3"]) -> Float[Tensor, "*b 4"]:
    """Unit quaternion with w >= 0. Picks the largest of the four candidates, so it is stable everywhere."""
    m = matrix
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    # Row k of this symmetric matrix is 4 q_k q; dividing the row with the largest diagonal by its norm gives q.
    rows = (
        1 + xx + yy + zz, a, b, c,
        a, 1 + xx - yy - zz, d, e,
        b, d, 1 - xx + yy - zz, f,
        c, e, f, 1 - xx - yy + zz,
    )  # fmt: skip
    rows = torch.stack(rows, -1).unflatten(-1, (4, 4))
    best = rows.diagonal(dim1=-2, dim2=-1).argmax(-1, keepdim=True)
    q = torch.take_along_dim(rows, best.unsqueeze(-1), -2).squeeze(-2)
    q = q / q.norm(dim=-1, keepdim=True)
    return torch.where(q[..., :1] < 0, -q, q)


def euler_to_matrix(angles: Float[Tensor, "*b 3"]) -> Float[Tensor, "*b 3 3"]:
    """Rx(a) Ry(b) Rz(c): intrinsic rotations about x, then the new y, then the new z [rad]."""
    (sa, sb, sc), (ca, cb, cc) = angles.sin().unbind(-1), angles.cos().unbind(-1)
    rows = (
        cb * cc, -cb * sc, sb,
        sa * sb * cc + ca * sc, ca * cc - sa * sb * sc, -sa * cb,
        sa * sc - ca * sb * cc, ca * sb * sc + sa * cc, ca * cb,
    )  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def matrix_to_euler(matrix: Float[Tensor, "*b 3 3"]) -> Float[Tensor, "*b 3"]:
    """Inverse of `euler_to_matrix` with the middle angle in [-pi/2, pi/2]."""
    b = torch.asin(matrix[..., 0, 2].clamp(-1, 1))
    a = torch.atan2(-matrix[..., 1, 2], matrix[..., 2, 2])
    c = torch.atan2(-matrix[..., 0, 1], matrix[..., 0, 0])
    # At the gimbal (cos b = 0) only a ± c is determined: give all of it to a.
    locked = matrix[..., 0, 2].abs() > 1 - 1e-9
    a_locked = torch.atan2(matrix[..., 2, 1], matrix[..., 1, 1])
    return torch.stack((torch.where(locked, a_locked, a), b, torch.where(locked, torch.zeros_like(c), c)), -1)


def rotation_vector(matrix: Float[Tensor, "*b 3 3"]) -> Float[Tensor, "*b 3"]:
    """Axis times angle, up to half a turn [rad]."""
    w, *xyz = matrix_to_quaternion(matrix).unbind(-1)
    vector = torch.stack(xyz, -1)
    return 2 * torch.atan2(vector.norm(dim=-1), w)[..., None] * torch.nn.functional.normalize(vector, dim=-1)


def rotation_matrix(vector: Float[Tensor, "*b 3"]) -> Float[Tensor, "*b 3 3"]:
    """Inverse of `rotation_vector` (Rodrigues' formula)."""
    angle = vector.norm(dim=-1, keepdim=True).clamp(min=1e-9)[..., None]
    axis = cross_matrix(vector) / angle
    return torch.eye(3).to(vector) + torch.sin(angle) * axis + (1 - torch.cos(angle)) * axis @ axis


def cross_matrix(v: Float[Tensor, "*b 3"]) -> Float[Tensor, "*b 3 3"]:
    """The matrix of v ×."""
    x, y, z = v.unbind(-1)
    none = torch.zeros_like(x)
    return torch.stack((none, -z, y, z, none, -x, -y, x, none), -1).unflatten(-1, (3, 3))


def apply(T_a_b: Float[Tensor, "*b 3 4"], points_b: Float[Tensor, "*b n 3"]) -> Float[Tensor, "*b n 3"]:
    """Points in a-coordinates; the last row (0 0 0 1) of transforms is left out."""
    return points_b @ T_a_b[..., :3].mT + T_a_b[..., None, :, 3]
