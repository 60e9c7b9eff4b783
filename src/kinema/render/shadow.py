"""Vertical shadows: light falls straight down and a thing darkens the ground the more the nearer it is.

    s(P) = 1 - s_max exp(-β d(P)),   d(P) = height of the lowest thing above P

On a grid on the ground: every Gaussian is dropped onto it with its optical thickness w from above, and with
S0 = Σ w, S1 = Σ w exp(-κ y) the soft minimum of the heights is d = -log(S1 / S0) / κ. Where little or nothing is
above P the term fades with the coverage 1 - exp(-S0).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.splat.pose import PosedSplats

CELLS = 64
SHARPNESS = 5.0
"""κ / β."""
LAYERS = 2.0
"""A surface of splats is a little transparent; counting it more often closes the gaps."""


@dataclass(frozen=True)
class Shadow:
    """How shadows look."""

    strength: float = 0.5
    """s_max: how much darker the ground is where it is touched."""
    falloff: float = 4.0
    """β [1/m]."""
    detach: bool = False
    """Whether gradients stop at the shadow."""
    most: int = 4000
    """Cast by at most this many Gaussians, evenly picked."""


@dataclass(frozen=True)
class ShadowMap:
    """The factor s of the ground's colour on a grid per frame; 1 outside it."""

    factor: Float[Tensor, "frames cells cells"]
    """Indexed [z, x]."""
    origin: Float[Tensor, "frames 2"]
    """x, z of the centre of cell (0, 0) [m]."""
    cell: float
    """Edge of a cell [m]."""


def shadow_map(
    posed: PosedSplats,
    opacities: Float[Tensor, "n"] | Float[Tensor, "frames n"],
    shadow: Shadow,
    *,
    height: float = 0.0,
) -> ShadowMap:
    """Differentiable with respect to the centres: where a Gaussian is and how high. Its thickness is a constant."""
    frames, count = posed.centers.shape[:2]
    step = max(1, -(-count // shadow.most))
    centers = posed.centers[:, ::step]
    if shadow.detach:
        centers = centers.detach()
    with torch.no_grad():
        flat = posed.covariances[:, ::step]
        area = 2 * torch.pi * (flat[..., 0, 0] * flat[..., 2, 2] - flat[..., 0, 2] ** 2).clamp(min=0).sqrt()
        above = (centers[..., 1] > height).to(area)
        low, high = centers[..., ::2].amin(1), centers[..., ::2].amax(1)
        # The grid keeps a cell's width of margin for the blur, is square, and has one size for all frames.
        cell = float((high - low).amax().clamp(min=1e-6)) / (CELLS - 9)
        origin = (low + high) / 2 - cell * (CELLS - 1) / 2
        weight = area * above * opacities[..., ::step] * (LAYERS * step / cell**2)

    kappa = SHARPNESS * shadow.falloff
    y = (centers[..., 1] - height).clamp(min=0)
    deposit = torch.stack((weight.expand_as(y), weight * (-kappa * y).clamp(min=-50).exp()), 1)
    place = (centers[..., ::2] - origin[:, None]) / cell
    corner = place.detach().floor()
    share = place - corner
    index = corner.long().clamp(0, CELLS - 2)
    base = index[..., 1] * CELLS + index[..., 0]
    fx, fz = share[..., 0], share[..., 1]
    mass = torch.zeros(frames, 2, CELLS * CELLS, dtype=centers.dtype, device=centers.device)
    corners = ((0, (1 - fx) * (1 - fz)), (1, fx * (1 - fz)), (CELLS, (1 - fx) * fz), (CELLS + 1, fx * fz))
    for offset, part in corners:
        mass = mass.scatter_add(2, (base + offset)[:, None].expand_as(deposit), deposit * part[:, None])
    mass = _blur(mass.unflatten(-1, (CELLS, CELLS)))
    s0, s1 = mass.unbind(1)
    tiny = 1e-8
    nearness = ((s1 + tiny) / (s0 + tiny)) ** (1 / SHARPNESS)
    return ShadowMap(1 - shadow.strength * (1 - torch.exp(-s0)) * nearness, origin, cell)


def _blur(mass: Float[Tensor, "frames 2 cells cells"]) -> Float[Tensor, "frames 2 cells cells"]:
    """Binomial (1 4 6 4 1) / 16 both ways: a deviation of one cell."""
    kernel = torch.tensor([1.0, 4, 6, 4, 1], dtype=mass.dtype, device=mass.device) / 16
    flat = mass.flatten(0, 1)[:, None]
    flat = torch.nn.functional.conv2d(flat, kernel[None, None, None, :], padding=(0, 2))
    flat = torch.nn.functional.conv2d(flat, kernel[None, None, :, None], padding=(2, 0))
    return flat[:, 0].unflatten(0, mass.shape[:2])


def look_up(
    shadows: ShadowMap, x: Float[Tensor, "frames h w"], z: Float[Tensor, "frames h w"]
) -> Float[Tensor, "frames h w"]:
    """s at ground points, bilinear between the cells' centres."""
    scale = 2 / (CELLS - 1) / shadows.cell
    grid = torch.stack(
        ((x - shadows.origin[:, 0, None, None]) * scale - 1, (z - shadows.origin[:, 1, None, None]) * scale - 1), -1
    )
    darkness = (1 - shadows.factor)[:, None]
    return 1 - torch.nn.functional.grid_sample(darkness, grid, padding_mode="zeros", align_corners=True)[:, 0]
