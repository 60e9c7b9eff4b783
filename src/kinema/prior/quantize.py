"""Linear layers with weights in 8 or 4 bits, dequantised where they are used.

A video has tens of thousands of tokens, so unpacking a weight costs little beside the product. Plain torch: the same
on every device, and nothing to compile or install.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

BLOCK = 64
"""Weights that share a scale in nf4."""

# The 16 levels of NormalFloat4: quantiles of N(0, 1) scaled to [-1, 1], with an exact zero (QLoRA, appendix E).
NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip


class Int8Linear(nn.Module):
    """w ≈ codes · scale with one scale per output row; the error is at most scale / 2."""

    codes: Tensor
    scale: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        scale = weight.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127
        self.register_buffer("codes", (weight / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def weight_as(self, dtype: torch.dtype) -> Float[Tensor, "outputs inputs"]:
        return self.codes.to(dtype) * self.scale.to(dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight_as(x.dtype), self.bias)


class Nf4Linear(nn.Module):
    """w ≈ NF4[code] · absmax of its block of 64; two codes per byte."""

    codes: Tensor
    scale: Tensor
    levels: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        self.shape = tuple(weight.shape)
        rows = F.pad(weight.flatten(), (0, -weight.numel() % BLOCK)).reshape(-1, BLOCK)
        scale = rows.abs().amax(1, keepdim=True).clamp_min(1e-12)
        levels = torch.tensor(NF4).to(weight.device)
        # The nearest level is found among the midpoints between neighbours.
        codes = torch.bucketize(rows / scale, (levels[1:] + levels[:-1]) / 2).to(torch.uint8)
        self.register_buffer("codes", codes[:, 0::2] | (codes[:, 1::2] << 4))
        self.register_buffer("scale", scale)
        self.register_buffer("levels", levels)
        self.bias = linear.bias

    def weight_as(self, dtype: torch.dtype) -> Float[Tensor, "outputs inputs"]:
        codes = torch.stack([self.codes & 15, self.codes >> 4], -1).flatten(1)
        weight = self.levels.to(dtype)[codes.int()] * self.scale.to(dtype)
        return weight.flatten()[: math.prod(self.shape)].reshape(self.shape)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight_as(x.dtype), self.bias)


def quantize_linears(module: nn.Module, kind: str) -> None:
    """Replace every linear layer inside a module."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, Int8Linear(child) if kind == "int8" else Nf4Linear(child))
        else:
            quantize_linears(child, kind)
