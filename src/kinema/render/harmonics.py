"""View-dependent colours: real spherical harmonics up to degree 3 in the order, sign and scale of 3DGS."""

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.splat.splats import SH_DC

C1 = 0.4886025119029199
C2 = (1.0925484305920792, -1.0925484305920792, 0.31539156525252005, -1.0925484305920792, 0.5462742152960396)
C3 = (0.5900435899266435, 2.890611442640554, 0.4570457994644658, 0.3731763325901154, 1.445305721320277)


def sh_basis(directions: Float[Tensor, "*b 3"], count: int) -> Float[Tensor, "*b count"]:
    """The first `count` (1, 4, 9 or 16) basis functions at unit directions."""
    x, y, z = directions.unbind(-1)
    xx, yy, zz = x * x, y * y, z * z
    basis = [torch.full_like(x, SH_DC), -C1 * y, C1 * z, -C1 * x]
    if count > 4:
        basis += [C2[0] * x * y, C2[1] * y * z, C2[2] * (2 * zz - xx - yy), C2[3] * x * z, C2[4] * (xx - yy)]
    if count > 9:
        basis += [-C3[0] * y * (3 * xx - yy), C3[1] * x * y * z, -C3[2] * y * (4 * zz - xx - yy)]
        basis += [C3[3] * z * (2 * zz - 3 * xx - 3 * yy), -C3[2] * x * (4 * zz - xx - yy)]
        basis += [C3[4] * z * (xx - yy), -C3[0] * x * (xx - 3 * yy)]
    return torch.stack(basis[:count], -1)


def sh_colors(
    sh: Float[Tensor, "points count 3"], centers: Float[Tensor, "frames points 3"], eyes: Float[Tensor, "frames 3"]
) -> Float[Tensor, "frames points 3"]:
    """Colours that cameras at `eyes` see: max(0, 1/2 + Σ sh_k Y_k(direction from eye to centre)).

    The directions are those of the world: a Gaussian that turns with its bone keeps the highlights of its rest pose
    where the world has them.
    """
    count = sh.shape[1]
    if count not in (1, 4, 9, 16):
        raise KinemaError(f"sh_colors: {count} coefficients per channel, not 1, 4, 9 or 16")
    if count == 1:
        return (SH_DC * sh[:, 0] + 0.5).clamp(min=0).expand(centers.shape[0], -1, -1)
    directions = torch.nn.functional.normalize(centers - eyes[:, None], dim=-1)
    # One matrix product per point, frames x count times count x 3, instead of a frames x points x count x 3 tensor.
    basis = sh_basis(directions, count).transpose(0, 1)
    return (torch.bmm(basis, sh).transpose(0, 1) + 0.5).clamp(min=0)
