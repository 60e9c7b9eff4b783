"""Vertical shadows: light falls straight down, and the ground is the darker the nearer the character is above it.

    s(P) = 1 - s_max exp(-β d(P)),   d(P) = height of the lowest Gaussian above P

On a grid on the ground, every Gaussian deposits its optical thickness w as seen from above, and with
S0 = Σ w, S1 = Σ w exp(-κ y) the soft minimum of the heights is d = -log(S1 / S0) / κ. Where little or nothing is
above P the term fades with the coverage 1 - exp(-S0).
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.render._native import is_native
from kinema.render.image import Opacities, Pixels
from kinema.splat.pose import PosedSplats, native_scene

CELLS = 64
SHARPNESS = 4
"""κ / β; a power of two, because the native kernel takes the root as two square roots."""
LAYERS = 2.0
"""Factor of the optical thickness: a surface of splats is a little transparent, and this closes the gaps."""
TINY = 1e-8
"""Keeps S1 / S0 finite where there is nothing."""

Boxes = Float[Tensor, "frames 2 3"]
"""Lowest and highest corner per frame [m]."""


@dataclass(frozen=True)
class Shadow:
    """Look of the shadow, and how many Gaussians cast it."""

    strength: float = 0.5
    """s_max: share by which the ground is darker where it is touched."""
    falloff: float = 4.0
    """β [1/m]."""
    most: int = 1000
    """Most Gaussians that cast the shadow, evenly picked."""


@dataclass(frozen=True)
class ShadowMap:
    """The factor s of the ground's colour on a grid per frame; 1 outside it."""

    factor: Float[Tensor, "frames cells cells"]
    """Indexed [z, x]."""
    origin: Float[Tensor, "frames 2"]
    """x, z of the centre of cell (0, 0) [m]."""
    cell: float
    """Edge of a cell [m]."""


def cast_shadow(
    posed: PosedSplats, opacities: Opacities, shadow: Shadow, *, height: float = 0.0, boxes: Boxes | None = None
) -> tuple[PosedSplats, ShadowMap]:
    """Make the shadow map, and give the same Gaussians again for the native rasterizer, and for nothing else.

    Differentiable with respect to the centres: where a Gaussian is and how high. Its thickness is a constant.

    The gradient that reaches the Gaussians given back is taken over and the shadow's is added to it in place, instead
    of making an array as large as all centres for the few that cast the shadow. It belongs to us alone only if the
    native rasterizer made it. `boxes` are the bounding boxes of the centres, if they are known.
    """
    if native_scene() is None or not is_native(posed.centers, posed.covariances, opacities):
        return posed, shadow_map_torch(posed, opacities, shadow, height=height)
    stride = _stride(posed, shadow)
    origin, cell = _grid(bounding_boxes(posed.centers) if boxes is None else boxes)
    gain = 2 * torch.pi * LAYERS * stride / cell**2
    options = (stride, cell, gain, SHARPNESS * shadow.falloff, height, shadow.strength, TINY)
    constants = (posed.covariances.detach().contiguous(), opacities.detach().contiguous(), origin, options)
    centers, factor = _Cast.apply(posed.centers.contiguous(), *constants)  # pyright: ignore[reportGeneralTypeIssues]
    return PosedSplats(centers, posed.covariances), ShadowMap(factor, origin, cell)


def shadow_map_torch(posed: PosedSplats, opacities: Opacities, shadow: Shadow, *, height: float = 0.0) -> ShadowMap:
    """The twin of `cast_shadow` in plain torch."""
    stride = _stride(posed, shadow)
    centers = posed.centers[:, ::stride]
    origin, cell = _grid(bounding_boxes(posed.centers))
    with torch.no_grad():
        flat = posed.covariances[:, ::stride]
        area = 2 * torch.pi * (flat[..., 0, 0] * flat[..., 2, 2] - flat[..., 0, 2] ** 2).clamp(min=0).sqrt()
        above = (centers[..., 1] > height).to(area)
        weight = area * above * opacities[..., ::stride] * (LAYERS * stride / cell**2)
    kappa = SHARPNESS * shadow.falloff
    y = (centers[..., 1] - height).clamp(min=0)
    deposit = torch.stack((weight.expand_as(y), weight * (-kappa * y).clamp(min=-50).exp()), 1)
    place = (centers[..., ::2] - origin[:, None]) / cell
    corner = place.detach().floor()
    fx, fz = (place - corner).unbind(-1)
    index = corner.long().clamp(0, CELLS - 2)
    base = index[..., 1] * CELLS + index[..., 0]
    mass = centers.new_zeros(len(posed), 2, CELLS * CELLS)
    corners = ((0, (1 - fx) * (1 - fz)), (1, fx * (1 - fz)), (CELLS, (1 - fx) * fz), (CELLS + 1, fx * fz))
    for offset, part in corners:
        mass = mass.scatter_add(2, (base + offset)[:, None].expand_as(deposit), deposit * part[:, None])
    # Blur by the binomial (1 4 6 4 1) / 16 along both axes: a deviation of one cell.
    kernel = mass.new_tensor([1.0, 4, 6, 4, 1]) / 16
    flat = torch.nn.functional.conv2d(mass.view(-1, 1, CELLS, CELLS), kernel[None, None, None, :], padding=(0, 2))
    flat = torch.nn.functional.conv2d(flat, kernel[None, None, :, None], padding=(2, 0))
    s0, s1 = flat.view(len(posed), 2, CELLS, CELLS).unbind(1)
    nearness = ((s1 + TINY) / (s0 + TINY)) ** (1 / SHARPNESS)
    return ShadowMap(1 - shadow.strength * (1 - torch.exp(-s0)) * nearness, origin, cell)


def bounding_boxes(centers: Float[Tensor, "frames n 3"]) -> Boxes:
    """Smallest and largest coordinates per frame, infinite without points; no gradient passes."""
    centers = centers.detach()
    if native_scene() is None or not is_native(centers):
        nowhere = centers.new_full((len(centers), 1, 3), torch.inf)
        return torch.stack((torch.cat((centers, nowhere), 1).amin(1), torch.cat((centers, -nowhere), 1).amax(1)), 1)
    boxes = centers.new_empty(len(centers), 2, 3)
    native_scene().bounds(centers.contiguous(), boxes, torch.get_num_threads())
    return boxes


def _stride(posed: PosedSplats, shadow: Shadow) -> int:
    """Stride through the Gaussians, of which only a subset casts the shadow."""
    return max(1, -(-posed.centers.shape[1] // shadow.most))


def _grid(boxes: Boxes) -> tuple[Float[Tensor, "frames 2"], float]:
    """Origin per frame and edge of the square cells, the same for all frames; four cells of margin are for the blur."""
    low, high = boxes[..., ::2].unbind(1)
    cell = float((high - low).amax().clamp(min=1e-6)) / (CELLS - 9)
    middle = torch.where(low <= high, (low + high) / 2, 0.0)  # somewhere, if there are no points
    return (middle - cell * (CELLS - 1) / 2).contiguous(), cell


class _Cast(torch.autograd.Function):
    """Gives the centres again, and the shadow factors."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        centers, *constants, options = arguments
        mass = centers.new_empty(len(centers), 2, CELLS, CELLS)
        factor = centers.new_empty(len(centers), CELLS, CELLS)
        operands = (centers.detach(), *constants)
        native_scene().shadow_forward(*operands, mass, *options, factor, torch.get_num_threads())
        ctx.save_for_backward(*operands, mass)
        ctx.options = options
        ctx.set_materialize_grads(False)
        return centers.view_as(centers), factor

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        grad_centers, grad_factor = grads
        if grad_factor is not None:
            operands = ctx.saved_tensors
            grad_centers = torch.zeros_like(operands[0]) if grad_centers is None else grad_centers.contiguous()
            options = (*ctx.options, grad_factor.contiguous(), grad_centers, torch.get_num_threads())
            native_scene().shadow_backward(*operands, *options)
        return grad_centers, None, None, None, None


def look_up(shadows: ShadowMap, x: Pixels, z: Pixels) -> Pixels:
    """Read s at ground points, bilinear between the cells' centres."""
    grid = (torch.stack((x, z), -1) - shadows.origin[:, None, None]) * (2 / (CELLS - 1) / shadows.cell) - 1
    darkness = (1 - shadows.factor)[:, None]
    return 1 - torch.nn.functional.grid_sample(darkness, grid, padding_mode="zeros", align_corners=True)[:, 0]
