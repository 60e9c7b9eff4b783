"""Nano's latents: principal components of how a video differs from the same character at rest.

A patch is 4 frames x 8 x 8 pixels x 3 colours. The projection is linear with orthonormal rows, so encoding needs no
network, its gradient is exact, and what does not move costs nothing.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

FRAMES, HEIGHT, WIDTH = 16, 48, 64
"""Size of nano's videos. Another one (divisible by the patch) needs nothing but this line and a new training."""
PATCH_FRAMES, PATCH = 4, 8
TIMES, ROWS, COLUMNS = FRAMES // PATCH_FRAMES, HEIGHT // PATCH, WIDTH // PATCH
TOKENS = TIMES * ROWS * COLUMNS
PATCH_VALUES = PATCH_FRAMES * PATCH * PATCH * 3
STILL_VALUES = PATCH * PATCH * 3

Videos = Float[Tensor, "*b frames 3 height width"]


@dataclass(frozen=True)
class Codec:
    """`components` has orthonormal rows; `scale` brings the latents of moving patches to unit size."""

    components: Float[Tensor, "channels values"]
    scale: float

    def encode(self, residual: Videos) -> Float[Tensor, "*b tokens channels"]:
        return patches(residual) @ self.components.T * self.scale

    def decode(self, latents: Float[Tensor, "*b tokens channels"]) -> Videos:
        return unpatch(latents @ self.components / self.scale)


def fit_codec(patches: Float[Tensor, "n values"], *, channels: int) -> Codec:
    """Principal components about zero (stillness is the origin) of patches that move."""
    moving = patches[patches.abs().amax(-1) > 0.02].double()
    values, vectors = torch.linalg.eigh(moving.T @ moving / len(moving))
    components = vectors.flip(-1)[:, :channels].T.float().contiguous()
    return Codec(components, float(1.0 / values.flip(0)[:8].mean().sqrt()))


def patches(residual: Videos) -> Float[Tensor, "*b tokens values"]:
    """Video to tokens in the order time, row, column."""
    x = residual.unflatten(-4, (TIMES, PATCH_FRAMES)).unflatten(-2, (ROWS, PATCH)).unflatten(-1, (COLUMNS, PATCH))
    # [..., T, f, c, R, y, C, x] -> [..., T, R, C, f, c, y, x]
    return x.movedim((-4, -2), (-6, -5)).flatten(-4).flatten(-4, -2)


def unpatch(tokens: Float[Tensor, "*b tokens values"]) -> Videos:
    """Inverse of `patches`."""
    x = tokens.unflatten(-1, (PATCH_FRAMES, 3, PATCH, PATCH)).unflatten(-5, (TIMES, ROWS, COLUMNS))
    # [..., T, R, C, f, c, y, x] -> [..., T, f, c, R, y, C, x]
    return x.movedim((-6, -5), (-4, -2)).flatten(-2).flatten(-3, -2).flatten(-5, -4)


def still_tokens(still: Float[Tensor, "*b 3 height width"]) -> Float[Tensor, "*b places values"]:
    """Patches of one frame, row by row."""
    x = still.unflatten(-2, (ROWS, PATCH)).unflatten(-1, (COLUMNS, PATCH))
    return x.movedim((-4, -2), (-5, -4)).flatten(-3).flatten(-3, -2)
