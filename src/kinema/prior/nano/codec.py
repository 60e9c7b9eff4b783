"""Nano's latents: principal components of how a video differs from the same character at rest.

A patch is 4 frames x 12 x 12 pixels x 3 colours. The projection is linear with orthonormal rows, so encoding needs no
network, its gradient is exact, and what does not move costs nothing. A picture lies on its side or stands upright, for
tall bodies; both have the same number of patches, and the shape of a video tells which it is.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

FRAMES, HEIGHT, WIDTH = 16, 72, 96
"""Size of nano's videos (upright: height and width exchanged). Another one (divisible by the patch) needs nothing but
this line and a new training."""
PATCH_FRAMES, PATCH = 4, 12
TIMES, PLACES = FRAMES // PATCH_FRAMES, (HEIGHT // PATCH) * (WIDTH // PATCH)
TOKENS = TIMES * PLACES
KEPT_PLACES = 32
"""How many places of the picture, those nearest to the character, become latents; the rest is ground and sky."""
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

    def decode(self, latents: Float[Tensor, "*b tokens channels"], *, rows: int) -> Videos:
        """The video of a picture of so many rows of patches."""
        return unpatch(latents @ self.components / self.scale, rows=rows)


def fit_codec(patches: Float[Tensor, "n values"], *, channels: int) -> Codec:
    """Principal components about zero (stillness is the origin) of patches that move."""
    moving = patches[patches.abs().amax(-1) > 0.02].double()
    values, vectors = torch.linalg.eigh(moving.T @ moving / len(moving))
    components = vectors.flip(-1)[:, :channels].T.float().contiguous()
    return Codec(components, float(1.0 / values.flip(0)[:8].mean().sqrt()))


def patches(residual: Videos) -> Float[Tensor, "*b tokens values"]:
    """Video to tokens in the order time, row, column."""
    x = residual.unflatten(-4, (TIMES, PATCH_FRAMES)).unflatten(-2, (-1, PATCH)).unflatten(-1, (-1, PATCH))
    # [..., T, f, c, R, y, C, x] -> [..., T, R, C, f, c, y, x]
    return x.movedim((-4, -2), (-6, -5)).flatten(-4).flatten(-4, -2)


def unpatch(tokens: Float[Tensor, "*b tokens values"], *, rows: int) -> Videos:
    """Inverse of `patches` for a picture of so many rows of patches."""
    x = tokens.unflatten(-1, (PATCH_FRAMES, 3, PATCH, PATCH)).unflatten(-5, (TIMES, rows, PLACES // rows))
    # [..., T, R, C, f, c, y, x] -> [..., T, f, c, R, y, C, x]
    return x.movedim((-6, -5), (-4, -2)).flatten(-2).flatten(-3, -2).flatten(-5, -4)


def still_tokens(still: Float[Tensor, "*b 3 height width"]) -> Float[Tensor, "*b places values"]:
    """Patches of one frame, row by row."""
    x = still.unflatten(-2, (-1, PATCH)).unflatten(-1, (-1, PATCH))
    return x.movedim((-4, -2), (-5, -4)).flatten(-3).flatten(-3, -2)


def near_character(
    still: Float[Tensor, "batch places values"], upright: Bool[Tensor, "batch"], *, keep: int = KEPT_PLACES,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch kept"]:  # fmt: skip
    """Tokens (of all times) of the `keep` places nearest to the character; a generator gives the others a chance.

    Chosen by the still (colours in [-1, 1]) alone: which tokens are there must not tell where the motion will be.
    """
    patch = still.unflatten(-1, (3, PATCH, PATCH))
    high, low = patch.amax(2), patch.amin(2)
    body = ((high - low > 0.44) | (high < -0.4)).float()  # ground and sky are grey and light
    score = torch.empty(len(still), PLACES)
    for tall in (False, True):
        chosen = (upright == tall).nonzero().flatten()
        rows, columns = (WIDTH // PATCH, HEIGHT // PATCH) if tall else (HEIGHT // PATCH, WIDTH // PATCH)
        image = body[chosen].reshape(-1, rows, columns, PATCH, PATCH).movedim(3, 2).flatten(3).flatten(1, 2)
        small = max_pool2d(image[:, None], 3)
        near = torch.stack([max_pool2d(small, 2 * r + 1, 1, r) for r in (0, 1, 2, 4, 6, 9, 13, 18, 24)]).sum(0)
        score[chosen] = avg_pool2d(near, PATCH // 3).flatten(1)
    if generator is not None:
        score = score + 0.3 * torch.randn(score.shape, generator=generator)
    place = score.topk(keep, dim=1).indices.sort(1).values
    return (place[:, None] + PLACES * torch.arange(TIMES)[:, None]).flatten(1)
