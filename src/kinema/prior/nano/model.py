"""The denoiser: a diffusion transformer over the patches that the body covers, v-prediction on a cosine schedule."""

import zlib
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import layer_norm, silu

from kinema.learn.transformer import LEVEL_FEATURES, Block, draw_weights, level_features
from kinema.prior.nano.codec import CHANNELS, PATCH_FRAMES, PLACES, STILL_VALUES, TIMES, TOKENS, covered_cells

TEXT = 384
TEXT_SCALE = TEXT**0.5
"""Sentence embeddings have length one; their 384 numbers should be about one each, or the words are learnt last."""
SHOT = 12
MOMENTS = 13
"""Numbers that describe the whole window, and each group of frames."""
VARIANTS = 1024
"""Rows of the table of variants; 0 is none. Names share rows by hash: two that do rarely are of the same motion."""
VARIANT_SCALE = 4.0
"""Factor on the table of variants: a row is seen rarely, and has to learn in few steps."""
STILL_SCALE = 3.0
"""Factor on what the still and the moment say to a token, beside hundreds of noisy numbers."""

Tokens = Float[Tensor, "batch tokens channels"]
Levels = Float[Tensor, "batch"]


@dataclass(frozen=True)
class Conditions:
    """Everything beside the noisy latents, batched."""

    text: Float[Tensor, "batch 384"]
    """Embedding of the motion's first wording; zeros: no text."""
    variant: Int[Tensor, "batch"]
    """Which way of doing the motion (`variant_row`); 0: any."""
    still: Float[Tensor, "batch places values"]
    """Patches of the standing body's point map (`codec.still_tokens`)."""
    upright: Bool[Tensor, "batch"]
    """The picture is taller than wide."""
    motion: Float[Tensor, "batch 7"]
    """1 if it repeats; phase [cycles] or progress of an action (0 begins, 1 ends) at frame 0; frames per cycle or
    action (0: a state); speed [leg lengths per frame]; 1 if these are told; 1 if the speed is told; the
    side that acts or leads (+1 left, -1 right, 0 untold).

    All zero means that nobody told: then the model has to see the phase for itself, as it does when it judges clips.
    """
    camera: Float[Tensor, "batch 2"]
    """yaw and elevation [rad]."""
    places: Int[Tensor, "batch tokens"]
    """Which tokens of the picture the latents are (`codec.covered_places`)."""

    @property
    def covered(self) -> Float[Tensor, "batch tokens channels"]:
        """1 for latents of cells that the body covers; the others are always 0."""
        cells = covered_cells(self.still)
        return cells.gather(1, (self.places % PLACES)[..., None].expand(-1, -1, cells.shape[-1]))

    @staticmethod
    def cat(parts: "list[Conditions]") -> "Conditions":
        names = ("text", "variant", "still", "upright", "motion", "camera", "places")
        return Conditions(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def variant_row(variant: str | None) -> int:
    """Row of a variant in the network's table; "" is the procedural one, None is any."""
    return 0 if variant is None else 1 + zlib.crc32(variant.encode()) % (VARIANTS - 1)


def signal_noise(t: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine schedule: z_t = cos(pi t / 2) z + sin(pi t / 2) noise."""
    return torch.cos(t * (torch.pi / 2)), torch.sin(t * (torch.pi / 2))


class Nano(nn.Module):
    """Predicts v = alpha * noise - sigma * clean."""

    def __init__(self, *, width: int, layers: int, heads: int, generator: torch.Generator | None = None) -> None:
        """Random first weights where there is a generator; without one they are zero, to be read from a file."""
        super().__init__()
        self.width, self.layers, self.heads = width, layers, heads
        self.tokens_in = nn.Linear(CHANNELS, width)
        self.still_in = nn.Linear(STILL_VALUES, width)
        self.moment_in = nn.Linear(MOMENTS, width)
        self.moment_told = nn.Sequential(nn.Linear(MOMENTS, width), nn.SiLU(), nn.Linear(width, width))
        self.position = nn.Parameter(torch.zeros(2, TOKENS, width))
        self.level = nn.Sequential(nn.Linear(LEVEL_FEATURES, width), nn.SiLU(), nn.Linear(width, width))
        self.text_in = nn.Sequential(nn.Linear(TEXT, width), nn.SiLU(), nn.Linear(width, width))
        self.variants = nn.Embedding(VARIANTS, width)
        self.shot_in = nn.Sequential(nn.Linear(SHOT, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.final = nn.Linear(width, 2 * width)
        self.tokens_out = nn.Linear(width, CHANNELS)
        # Quiet tokens are pure noise: v is then a multiple of z_t that depends on t alone, per channel.
        self.skip = nn.Linear(width, CHANNELS)
        # Blocks start as the identity and the output at zero (adaLN-zero).
        silent = {self.final, self.tokens_out, self.skip, *(block.modulation for block in self.blocks)}
        draw_weights(self, silent, generator)
        nn.init.zeros_(self.variants.weight)
        if generator is not None:
            nn.init.normal_(self.position, std=0.02, generator=generator)

    def forward(self, noisy: Tokens, t: Levels, given: Conditions) -> Tokens:
        """v of the tokens at the conditions' places."""
        level = self.level(level_features(t))
        words = self.text_in(TEXT_SCALE * given.text) + VARIANT_SCALE * self.variants(given.variant)
        shot, moment = self.shot_in(_shot_features(given)), _moment_features(given.motion)
        # The phase multiplies, group by group of frames: what a limb does is its own swing times where the cycle is.
        c = silu((level + words + shot)[:, None] + self.moment_told(moment))
        places = given.places
        here = (places[:, : places.shape[1] // TIMES, None] % PLACES).expand(-1, -1, STILL_VALUES)
        still = self.still_in(given.still.gather(1, here))
        moments = self.moment_in(moment)
        where = (still[:, None] + moments[:, :, None]).flatten(1, 2)
        covered = given.covered
        noisy = noisy * covered
        # Near pure noise the tokens should hear what is told, not the noise.
        signal = signal_noise(t)[0].sqrt()[:, None, None]
        x = signal * self.tokens_in(noisy) + STILL_SCALE * where
        x = x + self.position[given.upright.long()[:, None], places]
        for block in self.blocks:
            x = block(x, c)
        shift, scale = self.final(c).unsqueeze(2).chunk(2, -1)
        x = (layer_norm(x.unflatten(1, (TIMES, -1)), (self.width,)) * (1 + scale) + shift).flatten(1, 2)
        skip = _quiet_skip(t)[:, None] + self.skip(silu(level))
        return (self.tokens_out(x) + skip[:, None, :] * noisy) * covered

    def clean(self, noisy: Tokens, t: Levels, given: Conditions) -> Tokens:
        """ẑ = alpha z_t - sigma v."""
        alpha, sigma = (s[:, None, None] for s in signal_noise(t))
        return alpha * noisy * given.covered - sigma * self(noisy, t, given)


def _quiet_skip(t: Levels) -> Levels:
    """Best linear guess of v from z_t for data of small variance d: alpha sigma (1 - d) / (alpha² d + sigma²)."""
    (alpha, sigma), quiet = signal_noise(t), 0.05
    return alpha * sigma * (1 - quiet) / (alpha**2 * quiet + sigma**2)


def _moment_features(motion: Float[Tensor, "batch 7"]) -> Float[Tensor, "batch times 13"]:
    """Where in the cycle each group of frames is, or how far an action has got."""
    repeats, phase, period, speed, told, paced, _ = (column[:, None] for column in motion.unbind(-1))
    frame = torch.arange(TIMES, device=motion.device, dtype=motion.dtype) * PATCH_FRAMES + (PATCH_FRAMES - 1) / 2
    runs = told * (period > 0)
    at = phase + frame / torch.where(period > 0, period, torch.ones_like(period))
    cycle, action = runs * repeats, runs * (1 - repeats)
    waves = [cycle * f(2 * torch.pi * k * at) for k in (1, 2) for f in (torch.sin, torch.cos)]
    done = at.clamp(0, 1)
    waves += [action * f(torch.pi * k * done) for k in (1, 2) for f in (torch.sin, torch.cos)]
    constant = (action, told, 5 * paced * speed, told - runs)
    return torch.stack((*waves, action * at.clamp(-1, 2), *(value.expand(-1, TIMES) for value in constant)), -1)


def _shot_features(given: Conditions) -> Float[Tensor, "batch 12"]:
    """Pace, side and camera of the whole window."""
    repeats, _, period, speed, told, paced, side = given.motion.unbind(-1)
    yaw, elevation = given.camera.unbind(-1)
    runs = told * (period > 0)
    rate = runs / torch.where(period > 0, period, torch.ones_like(period))
    cycle, action = runs * repeats, runs * (1 - repeats)
    motion = (8 * rate * cycle, 64 * rate**2 * cycle, cycle, action, 16 * rate * action, 5 * paced * speed, told - runs)
    view = (yaw.sin(), yaw.cos(), elevation.sin(), given.upright.to(yaw))
    return torch.stack((*motion, *view, side), -1)
