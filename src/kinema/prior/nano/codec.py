"""Nano's latents: point maps cut into patches of 8 frames x 4 x 4 cells, which become tokens.

A picture lies on its side or stands upright, for tall bodies; both have the same number of patches, and the shape of a
video tells which it is. Only patches that the standing body covers become tokens: elsewhere there is nothing to tell.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

FRAMES, HEIGHT, WIDTH = 16, 24, 32
"""Size of nano's videos in cells (upright: height and width exchanged). Another one (divisible by the patch) needs
nothing but this line and a new training."""
PATCH_FRAMES, PATCH = 8, 4
TIMES, PLACES = FRAMES // PATCH_FRAMES, (HEIGHT // PATCH) * (WIDTH // PATCH)
TOKENS = TIMES * PLACES
KEPT_PLACES = 32
"""How many places of the picture, those that the body covers most, become tokens."""
CHANNELS = PATCH_FRAMES * 3 * PATCH * PATCH
CELLS = PATCH * PATCH
STILL_VALUES = 7 * CELLS
"""Values of a patch of the still: places, colours and coverage of its cells."""
SCALE = 4.0
"""Latents per unit of length: those of a walking leg are about one."""

Videos = Float[Tensor, "*b frames 3 rows columns"]
Stills = Float[Tensor, "*b 3 3 rows columns"]


def patches(video: Videos) -> Float[Tensor, "*b tokens channels"]:
    """Video to tokens in the order time, row, column."""
    x = video.unflatten(-4, (TIMES, PATCH_FRAMES)).unflatten(-2, (-1, PATCH)).unflatten(-1, (-1, PATCH))
    # [..., T, f, c, R, y, C, x] -> [..., T, R, C, f, c, y, x]
    return x.movedim((-4, -2), (-6, -5)).flatten(-4).flatten(-4, -2)


def unpatch(tokens: Float[Tensor, "*b tokens channels"], *, rows: int) -> Videos:
    """Inverse of `patches` for a picture of so many rows of patches."""
    x = tokens.unflatten(-1, (PATCH_FRAMES, 3, PATCH, PATCH)).unflatten(-5, (TIMES, rows, PLACES // rows))
    # [..., T, R, C, f, c, y, x] -> [..., T, f, c, R, y, C, x]
    return x.movedim((-6, -5), (-4, -2)).flatten(-2).flatten(-3, -2).flatten(-5, -4)


def still_tokens(still: Stills) -> Float[Tensor, "*b places values"]:
    """Patches of the still, row by row: places, colours in [-1, 1], coverage."""
    places, colors, covered = still.unbind(-4)
    x = torch.cat((places, (2 * colors - 1) * covered, covered[..., :1, :, :]), -3)
    x = x.unflatten(-2, (-1, PATCH)).unflatten(-1, (-1, PATCH))
    return x.movedim((-4, -2), (-5, -4)).flatten(-3).flatten(-3, -2)


def covered_cells(still: Float[Tensor, "*b places values"]) -> Float[Tensor, "*b places channels"]:
    """1 for every value of a patch whose cell the body covers, else 0."""
    return still[..., -CELLS:].repeat(*(1 for _ in still.shape[:-1]), CHANNELS // CELLS)


def covered_places(still: Float[Tensor, "batch places values"]) -> Int[Tensor, "batch kept"]:
    """Tokens (of all times) of the places that the body covers most."""
    place = still[..., -CELLS:].sum(-1).topk(KEPT_PLACES, dim=1).indices.sort(1).values
    return (place[:, None] + PLACES * torch.arange(TIMES)[:, None]).flatten(1)
