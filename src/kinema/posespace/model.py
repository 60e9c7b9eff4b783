"""The denoiser over poses: a transformer with a token for every joint and one for the root's height.

The path is a flow, x_t = (1 - t) x + t noise; the network predicts the clean pose through a skip as in EDM. Attention
is biased by how two joints are related in the tree. It knows no joint names, so that strangers' rigs are nothing new.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import layer_norm, silu

from kinema.learn.transformer import LEVEL_FEATURES, Block, draw_weights, level_features
from kinema.posespace.batch import FEATURES, Bodies, features
from kinema.posespace.body import CODES
from kinema.posespace.pose import Poses, from_six, to_six

TEXT = 384
TEXT_SCALE = TEXT**0.5
SIX_SCALE, HEIGHT_SCALE = 6.0, 10.0
"""Factors that bring rotations (less the identity, in six numbers) and heights (in scales) to about unit variance."""
Values = Float[Tensor, "batch tokens 6"]
"""A pose as the network sees it: six numbers per joint; the last token has the height first, and zeros."""
Levels = Float[Tensor, "batch"]


@dataclass(frozen=True)
class Given:
    """Everything beside the noisy pose, computed once for all steps."""

    tokens: Float[Tensor, "#batch tokens width"]
    bias: Float[Tensor, "layers #batch heads tokens tokens"]
    text: Float[Tensor, "#batch width"]
    alive: Float[Tensor, "#batch tokens 6"]
    """1 for values that mean something."""


class PoseModel(nn.Module):
    """Predicts the clean pose."""

    def __init__(
        self, *, width: int = 128, layers: int = 4, heads: int = 4, generator: torch.Generator | None = None
    ) -> None:
        """Random first weights where there is a generator; without one they are zero, to be read from a file."""
        super().__init__()
        self.width, self.layers, self.heads = width, layers, heads
        self.values_in = nn.Linear(6, width)
        self.joint_in = nn.Sequential(nn.Linear(FEATURES, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
        self.root_token = nn.Parameter(torch.zeros(width))
        self.relations = nn.Parameter(torch.zeros(CODES, layers * heads))
        self.level = nn.Sequential(nn.Linear(LEVEL_FEATURES, width), nn.SiLU(), nn.Linear(width, width))
        self.text_in = nn.Sequential(nn.Linear(TEXT, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.final = nn.Linear(width, 2 * width)
        self.values_out = nn.Linear(width, 6)
        # Blocks start as the identity and the output at zero (adaLN-zero).
        silent = {self.final, self.values_out, *(block.modulation for block in self.blocks)}
        draw_weights(self, silent, generator)
        if generator is not None:
            nn.init.normal_(self.root_token, std=0.5, generator=generator)

    def given(self, bodies: Bodies, text: Float[Tensor, "#batch 384"]) -> Given:
        """What bodies and words tell the network; an embedding of zeros is no words."""
        joints = self.joint_in(features(bodies))
        tokens = torch.cat((joints, self.root_token.expand(len(joints), 1, -1)), 1)
        mask = bodies.token_mask
        bias = self.relations[bodies.codes].unflatten(-1, (self.layers, self.heads)).permute(3, 0, 4, 1, 2)
        bias = bias.masked_fill(~mask[None, :, None, None, :], -1e4)
        alive = mask[..., None].expand(-1, -1, 6).to(tokens)
        alive = torch.cat((alive[:, :-1], alive[:, -1:] * alive.new_tensor([1.0, 0, 0, 0, 0, 0])), 1)
        return Given(tokens, bias, self.text_in(TEXT_SCALE * text), alive)

    def forward(self, noisy: Values, t: Levels, given: Given) -> Values:
        """The clean pose; values that mean nothing are zero."""
        skip, out, scale_in = path_factors(t)
        c = silu(self.level(level_features(t)) + given.text)
        x = self.values_in(scale_in[:, None, None] * noisy) + given.tokens
        # Unbound at once: backwards, each index into the layers would fill a tensor of all of them with zeros.
        for block, bias in zip(self.blocks, given.bias.unbind(0), strict=True):
            x = block(x, c[:, None], bias)
        shift, scale = self.final(c).unsqueeze(1).chunk(2, -1)
        x = self.values_out(layer_norm(x, (self.width,)) * (1 + scale) + shift)
        return (skip[:, None, None] * noisy + out[:, None, None] * x.to(noisy)) * given.alive


def path_factors(t: Levels) -> tuple[Levels, Levels, Levels]:
    """EDM's c_skip, c_out and c_in for data of unit variance on the path (1 - t) x + t noise."""
    variance = (1 - t) ** 2 + t**2
    return (1 - t) / variance, t / variance.sqrt(), 1 / variance.sqrt()


def to_values(rotations: Float[Tensor, "batch joints 3 3"], height: Float[Tensor, "batch"]) -> Values:
    """Rotations, and heights in scales, as the network sees them."""
    root = torch.cat((HEIGHT_SCALE * height[:, None], height.new_zeros(len(height), 5)), -1)
    return torch.cat((SIX_SCALE * to_six(rotations), root[:, None]), 1)


def from_values(values: Values) -> tuple[Float[Tensor, "batch joints 3 3"], Float[Tensor, "batch"]]:
    """Rotations, and heights in scales."""
    return from_six(values[:, :-1] / SIX_SCALE), values[:, -1, 0] / HEIGHT_SCALE


def poses_to_values(poses: Poses, scale: float) -> Values:
    """Poses of one body, whose heights are in metres."""
    return to_values(poses.rotations, poses.height / scale)


def values_to_poses(values: Values, scale: float) -> Poses:
    rotations, height = from_values(values)
    return Poses(rotations, height * scale)
