"""A small encoder in place of a video VAE's, for memory and speed (TAEHV-style weights from a local file).

Frames go through image convolutions; memory blocks also see the frame before, and pools join frames in time. The
latents come out near those of the VAE it was distilled from; what is left of scale and offset is fitted per channel.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from kinema.errors import KinemaError
from kinema.prior.latents import Latents, recompute
from kinema.prior.protocol import Context, Video, VideoPrior


class MemoryBlock(nn.Module):
    """Residual block over a frame and the one before it."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        first, second, third = (nn.Conv2d(n, outputs, 3, padding=1) for n in (2 * inputs, outputs, outputs))
        self.conv = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), third)
        self.skip = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x: Float[Tensor, "frames channels height width"]) -> Tensor:
        before = torch.cat([torch.zeros_like(x[:1]), x[:-1]])
        return F.relu(self.conv(torch.cat([x, before], 1)) + self.skip(x))


class TimePool(nn.Module):
    """Joins `stride` frames into one."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.conv = nn.Conv2d(channels * stride, channels, 1, bias=False)

    def forward(self, x: Float[Tensor, "frames channels height width"]) -> Tensor:
        return self.conv(x.reshape(-1, self.stride * x.shape[1], *x.shape[2:]))


class TinyEncoder(nn.Module):
    """Video in [0, 1] to raw latents; every block is recomputed in the backward pass."""

    def __init__(self, blocks: nn.Sequential, *, patch: int) -> None:
        super().__init__()
        self.blocks, self.patch = blocks, patch
        self.time = math.prod(block.stride for block in blocks if isinstance(block, TimePool))

    @staticmethod
    def load(path: Path, *, device: str, dtype: torch.dtype) -> "TinyEncoder":
        """From a safetensors file with keys `encoder.<block>....`; the blocks are read off their weights."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(path)
        except FileNotFoundError:
            raise KinemaError(f"{path}: no such file") from None
        except (SafetensorError, OSError) as error:
            raise KinemaError(f"{path}: not a safetensors file ({error})") from None
        weights = {key.removeprefix("encoder."): value for key, value in tensors.items() if key.startswith("encoder.")}
        try:
            blocks = nn.Sequential(*_blocks(weights))
            blocks.load_state_dict(weights)
            patch = math.isqrt(weights["0.weight"].shape[1] // 3)
        except (KeyError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:120]
            raise KinemaError(f"{path}: not the weights of a tiny video encoder ({reason})") from None
        return TinyEncoder(blocks, patch=patch).to(device, dtype).eval().requires_grad_(False)

    @staticmethod
    def published(channels: int, *, space: int, time: int) -> "TinyEncoder":
        """Untrained, as large as the published ones, for latents that are smaller so many times."""
        patch, blocks = max(1, space // 8), list[nn.Module]()
        for stage in range(3):
            stride = 2 if time > 2**stage else 1
            halve = nn.Conv2d(64, 64, 3, padding=1, stride=2, bias=False)
            blocks += [TimePool(64, stride), halve, *(MemoryBlock(64, 64) for _ in range(3))]
        first, last = nn.Conv2d(3 * patch**2, 64, 3, padding=1), nn.Conv2d(64, channels, 3, padding=1)
        return TinyEncoder(nn.Sequential(first, nn.ReLU(), *blocks, last), patch=patch).requires_grad_(False)

    def forward(self, video: Video) -> Latents:
        x = F.pixel_unshuffle(video, self.patch)
        x = torch.cat([x, x[-1:].expand(-len(x) % self.time, -1, -1, -1)])
        for block in self.blocks:
            x = recompute(block, x)
        return x


def _blocks(weights: dict[str, Tensor]) -> list[nn.Module]:
    if not weights:
        raise ValueError("no key starts with encoder.")
    blocks: list[nn.Module] = []
    for k in range(1 + max(int(key.split(".")[0]) for key in weights)):
        if (first := weights.get(f"{k}.conv.0.weight")) is not None:
            blocks.append(MemoryBlock(first.shape[1] // 2, first.shape[0]))
        elif (pool := weights.get(f"{k}.conv.weight")) is not None:
            blocks.append(TimePool(pool.shape[0], pool.shape[1] // pool.shape[0]))
        elif (kernel := weights.get(f"{k}.weight")) is not None:
            plain = f"{k}.bias" in weights  # the convolutions that halve the image are those without a bias
            outputs, inputs = kernel.shape[:2]
            blocks.append(nn.Conv2d(inputs, outputs, 3, padding=1, stride=1 if plain else 2, bias=plain))
        else:
            blocks.append(nn.ReLU())
    return blocks


@dataclass(frozen=True)
class Calibration:
    """latents of the VAE ≈ gain · tiny + offset, per channel."""

    gain: Float[Tensor, "channels 1 1"]
    offset: Float[Tensor, "channels 1 1"]


def calibrate(tiny: Latents, real: Latents) -> Calibration:
    """Least squares per channel over frames and pixels."""
    x, y = (latents.transpose(0, 1).flatten(1).double() for latents in (tiny, real))
    dx, dy = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    gain = (dx * dy).sum(1) / (dx * dx).sum(1).clamp_min(1e-12)
    offset = y.mean(1) - gain * x.mean(1)
    return Calibration(gain[:, None, None].to(tiny), offset[:, None, None].to(tiny))


class TinyEncode:
    """`VideoPrior.encode` by a tiny encoder, calibrated to the prior's own on a video of `calibrate`, or else on the
    first that it is given."""

    def __init__(self, prior: VideoPrior, encoder: TinyEncoder) -> None:
        self.real, self.encoder = prior.encode, encoder
        self.calibration: Calibration | None = None
        self.padding = 0

    def __call__(self, video: Video, context: Context) -> Latents:
        """The tiny encoder's latents on the VAE's scale."""
        calibration = self.calibration or self.calibrate(video.detach(), context)
        latents = self._tiny(video) * calibration.gain.to(video) + calibration.offset.to(video)
        # Frames that the prior puts in front (CogVideoX 1.5) are copies of the first one, without a gradient.
        return torch.cat([latents[:1].detach().expand(self.padding, -1, -1, -1), latents])

    def _tiny(self, video: Tensor) -> Tensor:
        weight = next(self.encoder.parameters())
        return self.encoder(video.to(weight.device, weight.dtype)).to(video)

    @torch.no_grad()
    def calibrate(self, video: Video, context: Context) -> Calibration:
        """Fit scale and offset anew. A run does so with a video of its own: resumed, or with a prior that other runs
        had before, it then sees the same latents."""
        tiny, real = self._tiny(video), self.real(video, context)
        self.padding = len(real) - len(tiny)
        if self.padding < 0 or tiny.shape[1:] != real.shape[1:]:
            shapes = f"the tiny encoder makes latents {tuple(tiny.shape)}, this prior's VAE {tuple(real.shape)}"
            raise KinemaError(f"{shapes}: its weights belong to another model")
        self.calibration = calibrate(tiny, real[self.padding :])
        return self.calibration
