"""The denoiser: a diffusion transformer over the patches that the body covers, v-prediction on a cosine schedule."""

import zlib
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import layer_norm, silu

from kinema.learn.transformer import LEVEL_FEATURES, Block, draw_weights, level_features
from kinema.prior.nano.codec import (
    CELLS,
    CHANNELS,
    PATCH_FRAMES,
    PLACES,
    STILL_VALUES,
    TIMES,
    TOKENS,
    covered_cells,
)

TEXT = 384
TEXT_SCALE = TEXT**0.5
"""Sentence embeddings have length one; their 384 numbers should be about one each, or the words are learnt last."""
SHOT = 12
"""Numbers that describe the whole window."""
CYCLE_WAVES, ACTION_WAVES = (1, 2, 3, 4), (1, 2, 3)
"""Harmonics of a cycle, and half waves of an action, in which motions are told and said."""
WAVES = 1 + 2 * len(CYCLE_WAVES) + 2 * len(ACTION_WAVES)
MOMENTS = 13 + WAVES * PATCH_FRAMES
"""Numbers that describe a group of frames."""
VARIANTS = 1024
"""Rows of the table of variants; 0 is none. Names share rows by hash: two that do rarely are of the same motion."""
VARIANT_SCALE = 4.0
"""Factor on the table of variants: a row is seen rarely, and has to learn in few steps."""
STILL_SCALE = 3.0
"""Factor on what the still and the moment say to a token, beside hundreds of noisy numbers."""

CELL, PARTS, KEY = 64, 4, 16
"""Width of what is known of a cell, moving parts of a patch, and numbers by which cells and parts find each other."""
OFFSET_SCALE = 8.0
"""Factor on the places of cells in their patch, which is about an eighth of the body."""

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
        self.cell_in = nn.Sequential(nn.Linear(10, CELL), nn.SiLU(), nn.Linear(CELL, CELL))
        self.cells_told = nn.Linear(CELL, width)
        self.moved_in = nn.Linear(12 * (PATCH_FRAMES + WAVES), width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.final = nn.Linear(width, 2 * width)
        self.tokens_out = nn.Linear(width, CHANNELS)
        self.cell_query = nn.Linear(CELL, KEY)
        self.part_keys = nn.Linear(width, PARTS * KEY)
        self.parts_out = nn.Linear(width, PARTS * 12 * (PATCH_FRAMES + WAVES))
        # Quiet tokens are pure noise: v is then a multiple of z_t that depends on t alone, per channel.
        self.skip = nn.Linear(width, CHANNELS)
        # Blocks start as the identity and the output at zero (adaLN-zero).
        silent = {self.final, self.tokens_out, self.skip, *(block.modulation for block in self.blocks)}
        silent |= {self.cells_told, self.moved_in, self.parts_out}
        draw_weights(self, silent, generator)
        nn.init.zeros_(self.variants.weight)
        if generator is not None:
            nn.init.normal_(self.position, std=0.02, generator=generator)

    def forward(self, noisy: Tokens, t: Levels, given: Conditions) -> Tokens:
        """v of the tokens at the conditions' places."""
        level = self.level(level_features(t))
        words = self.text_in(TEXT_SCALE * given.text) + VARIANT_SCALE * self.variants(given.variant)
        waves = _waves(given.motion)
        shot, moment = self.shot_in(_shot_features(given)), _moment_features(given.motion, waves)
        # The phase multiplies, group by group of frames: what a limb does is its own swing times where the cycle is.
        c = silu((level + words + shot)[:, None] + self.moment_told(moment))
        places = given.places
        here = (places[:, : places.shape[1] // TIMES, None] % PLACES).expand(-1, -1, STILL_VALUES)
        patches = given.still.gather(1, here)
        known, offsets, share = _cells(patches)
        cells = self.cell_in(known)
        still = self.still_in(patches) + self.cells_told((share * cells).sum(-2))
        moments = self.moment_in(moment)
        where = (still[:, None] + moments[:, :, None]).flatten(1, 2)
        covered = given.covered
        noisy = noisy * covered
        # Near pure noise the tokens should hear what is told, not the noise.
        signal = signal_noise(t)[0].sqrt()[:, None, None]
        times = torch.cat((torch.eye(PATCH_FRAMES).to(waves).expand(*waves.shape[:2], -1, -1), waves), -1)
        offsets = offsets.repeat(1, TIMES, 1, 1)
        moved = noisy.unflatten(-1, (-1, CELLS)) @ (share.repeat(1, TIMES, 1, 1) * offsets)
        moved = _in_time(moved.flatten(-2).unflatten(-1, (PATCH_FRAMES, 12)).mT, times).flatten(-2)
        x = signal * (self.tokens_in(noisy) + self.moved_in(moved)) + STILL_SCALE * where
        x = x + self.position[given.upright.long()[:, None], places]
        for block in self.blocks:
            x = block(x, c)
        shift, scale = self.final(c).unsqueeze(2).chunk(2, -1)
        x = (layer_norm(x.unflatten(1, (TIMES, -1)), (self.width,)) * (1 + scale) + shift).flatten(1, 2)
        skip = _quiet_skip(t)[:, None] + self.skip(silu(level))
        return (self.tokens_out(x) + self._parts(x, cells, offsets, times) + skip[:, None, :] * noisy) * covered

    def _parts(
        self, x: Float[Tensor, "batch tokens width"], cells: Float[Tensor, "batch places cells _"],
        offsets: Float[Tensor, "batch tokens cells 4"], times: Float[Tensor, "batch groups frames _"],
    ) -> Tokens:  # fmt: skip
        """Each cell goes with the moving parts of its patch that it belongs to, as skin goes with bones.

        A part's motion is affine in each frame, and said by frame and by waves: a gait is then the same at every phase
        and pace. Cells find their parts by what they are and not by which cell of the patch they are, so that what is
        learnt of one place of the picture holds for all.
        """
        query = self.cell_query(cells).repeat(1, TIMES, 1, 1)
        belongs = (query @ self.part_keys(x).unflatten(-1, (KEY, PARTS))).softmax(-1)
        affine = _in_time(self.parts_out(x).unflatten(-1, (PARTS * 12, -1)), times.mT)
        affine = affine.unflatten(2, (PARTS * 4, 3)).mT.flatten(-2)
        return ((belongs[..., None] * offsets[..., None, :]).flatten(-2) @ affine).mT.flatten(-2)

    def clean(self, noisy: Tokens, t: Levels, given: Conditions) -> Tokens:
        """ẑ = alpha z_t - sigma v."""
        alpha, sigma = (s[:, None, None] for s in signal_noise(t))
        return alpha * noisy * given.covered - sigma * self(noisy, t, given)


def _cells(
    patches: Float[Tensor, "batch places values"],
) -> tuple[
    Float[Tensor, "batch places cells 10"], Float[Tensor, "batch places cells 4"], Float[Tensor, "batch places cells 1"]
]:
    """What is known of each cell, its place in its patch and a one, and its share of the patch (0: nothing there)."""
    x = patches.unflatten(-1, (7, CELLS)).mT
    place, covered = x[..., :3], x[..., 6:]
    share = covered / covered.sum(-2, keepdim=True).clamp(min=1)
    offset = OFFSET_SCALE * (place - (share * place).sum(-2, keepdim=True)) * covered
    return torch.cat((x, offset), -1), torch.cat((offset, covered), -1), share


def _quiet_skip(t: Levels) -> Levels:
    """Best linear guess of v from z_t for data of small variance d: alpha sigma (1 - d) / (alpha² d + sigma²)."""
    (alpha, sigma), quiet = signal_noise(t), 0.05
    return alpha * sigma * (1 - quiet) / (alpha**2 * quiet + sigma**2)


def _in_time(
    values: Float[Tensor, "batch tokens rows _"], times: Float[Tensor, "batch groups _ _"]
) -> Float[Tensor, "batch tokens rows _"]:
    """Multiply the last dimension of every token's values by the matrix of its group of frames."""
    grouped = values.unflatten(1, (times.shape[1], -1))
    return (grouped.flatten(2, 3) @ times).unflatten(2, grouped.shape[2:4]).flatten(1, 2)


def _told(motion: Float[Tensor, "batch 7"]) -> tuple[Tensor, Tensor, Tensor]:
    """1 for a cycle whose phase is told, 1 for an action, and how much of either passes in a frame."""
    repeats, _, period, _, told, *_ = (column[:, None] for column in motion.unbind(-1))
    runs = told * (period > 0)
    return runs * repeats, runs * (1 - repeats), 1 / torch.where(period > 0, period, torch.ones_like(period))


def _waves(motion: Float[Tensor, "batch 7"]) -> Float[Tensor, "batch times frames waves"]:
    """A one where anything is told, and the waves of the cycle or action in every frame."""
    cycle, action, rate = _told(motion)
    frame = torch.arange(TIMES * PATCH_FRAMES, device=motion.device, dtype=motion.dtype)
    at = motion[:, 1:2] + frame * rate
    round_, half = 2 * torch.pi * at, torch.pi * at.clamp(0, 1)
    waves = [cycle * f(k * round_) for k in CYCLE_WAVES for f in (torch.sin, torch.cos)]
    waves += [action * f(k * half) for k in ACTION_WAVES for f in (torch.sin, torch.cos)]
    return torch.stack((motion[:, 4:5].expand_as(at), *waves), -1).unflatten(1, (TIMES, PATCH_FRAMES))


def _moment_features(
    motion: Float[Tensor, "batch 7"], waves: Float[Tensor, "batch times frames waves"]
) -> Float[Tensor, "batch times moments"]:
    """Where in the cycle each group of frames is and each frame in it, or how far an action has got."""
    speed, told, paced = (motion[:, column, None] for column in (3, 4, 5))
    cycle, action, rate = _told(motion)
    middle = torch.arange(TIMES, device=motion.device, dtype=motion.dtype) * PATCH_FRAMES + (PATCH_FRAMES - 1) / 2
    at = motion[:, 1:2] + middle * rate
    of_group = [cycle * f(2 * torch.pi * k * at) for k in (1, 2) for f in (torch.sin, torch.cos)]
    of_group += [action * f(torch.pi * k * at.clamp(0, 1)) for k in (1, 2) for f in (torch.sin, torch.cos)]
    constant = (action, told, 5 * paced * speed, told - cycle - action)
    of_group += [action * at.clamp(-1, 2), *(value.expand(-1, TIMES) for value in constant)]
    return torch.cat((torch.stack(of_group, -1), waves.flatten(-2)), -1)


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
