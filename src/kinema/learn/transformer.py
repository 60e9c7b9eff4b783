"""Parts of the diffusion transformers: a block modulated by the conditions, noise levels as features, first weights."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm

LEVEL_FEATURES = 64


class Block(nn.Module):
    """Attention and MLP, both modulated by the conditions (adaLN-zero)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.modulation = nn.Linear(width, 6 * width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(
        self,
        x: Float[Tensor, "batch tokens width"],
        c: Float[Tensor, "batch groups width"],
        bias: Float[Tensor, "#batch heads tokens tokens"] | None = None,
    ) -> Tensor:
        """The tokens stand in `groups` runs of equal length, each with conditions of its own, which multiply what a
        token says; `bias` is added to the attention's logits."""
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.modulation(c).unsqueeze(2).chunk(6, -1)
        x = x.unflatten(1, (c.shape[1], -1))
        h = (layer_norm(x, (self.width,)) * (1 + scale_a) + shift_a).flatten(1, 2)
        q, k, v = self.qkv(h).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        # Written out: torch's fused kernel takes five times as long backwards for a hundred tokens on CPUs.
        logits = q * q.shape[-1] ** -0.5 @ k.mT
        logits = logits if bias is None else logits + bias.to(q.dtype)
        h = (logits.softmax(-1).to(v.dtype) @ v).transpose(1, 2).flatten(-2)
        x = x + gate_a * self.proj(h).unflatten(1, (c.shape[1], -1))
        h = layer_norm(x, (self.width,)) * (1 + scale_m) + shift_m
        return (x + gate_m * self.down(gelu(self.up(h), approximate="tanh"))).flatten(1, 2)


def level_features(t: Float[Tensor, "batch"]) -> Float[Tensor, "batch 64"]:
    """Sines and cosines of a noise level."""
    frequencies = torch.exp(torch.linspace(0, math.log(200.0), LEVEL_FEATURES // 2, device=t.device, dtype=t.dtype))
    angles = t[:, None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), -1)


def draw_weights(model: nn.Module, silent: set[nn.Module], generator: torch.Generator | None) -> None:
    """Random first weights of all linear layers, zero for those that begin silent, and for all without a generator."""
    for layer in (part for part in model.modules() if isinstance(part, nn.Linear)):
        bound = 0.0 if layer in silent or generator is None else layer.in_features**-0.5
        for parameter in (layer.weight, layer.bias):
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
