"""Spherical harmonics: orthonormal, in the order and sign of 3DGS, differentiable."""

import numpy as np
import pytest
import torch

from kinema.errors import KinemaError
from kinema.render.harmonics import sh_basis, sh_colors


def test_basis_is_orthonormal():
    # ∫ Y_i Y_j dΩ = δ_ij; Gauss-Legendre in z times the trapezoid rule in φ is exact for these polynomials.
    z, weights = np.polynomial.legendre.leggauss(8)
    phi = np.arange(16) * 2 * np.pi / 16
    zz, pp = np.meshgrid(z, phi, indexing="ij")
    s = np.sqrt(1 - zz**2)
    directions = torch.from_numpy(np.stack((s * np.cos(pp), s * np.sin(pp), zz), -1))
    basis = sh_basis(directions, 16)
    area = torch.from_numpy(np.broadcast_to(weights[:, None] * 2 * np.pi / 16, zz.shape).copy())
    gram = torch.einsum("abi,abj,ab->ij", basis, basis, area)
    torch.testing.assert_close(gram, torch.eye(16, dtype=torch.float64), atol=1e-12, rtol=0)


def test_first_degree_is_minus_y_z_minus_x():
    basis = sh_basis(torch.eye(3, dtype=torch.float64), 4)
    c = 0.4886025119029199
    torch.testing.assert_close(basis[:, 1:], c * torch.tensor([[0, 0, -1], [-1, 0, 0], [0, 1, 0]], dtype=torch.float64))


@pytest.mark.parametrize("count", [1, 4, 9, 16])
def test_colours_are_the_sum_and_differentiable(count):
    rng = torch.Generator().manual_seed(count)
    sh = 0.3 * torch.randn(3, count, 3, generator=rng, dtype=torch.float64)
    centers = torch.randn(2, 3, 3, generator=rng, dtype=torch.float64)
    eyes = 5 + torch.randn(2, 3, generator=rng, dtype=torch.float64)
    direction = torch.nn.functional.normalize(centers - eyes[:, None], dim=-1)
    true = (torch.einsum("fpk,pkc->fpc", sh_basis(direction, count), sh) + 0.5).clamp(min=0)
    torch.testing.assert_close(sh_colors(sh, centers, eyes), true)
    leaves = [t.requires_grad_() for t in (sh, centers, eyes)]
    assert torch.autograd.gradcheck(sh_colors, leaves)


def test_other_numbers_of_coefficients_are_errors():
    with pytest.raises(KinemaError, match="5 coefficients"):
        sh_colors(torch.zeros(1, 5, 3), torch.zeros(1, 1, 3), torch.ones(1, 3))
