"""Text-to-video U-Nets behind `VideoPrior`: epsilon prediction in an image VAE (ModelScope, Zeroscope).

Latents are [frames, channels, height / 8, width / 8], in the dtype and on the device of the video.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, place, read_part, read_scheduler, read_tokenizer
from kinema.prior.protocol import Shot
from kinema.prior.text_cache import Embedding, cached_embedding


@dataclass(frozen=True)
class UNetCondition:
    text: Float[Tensor, "tokens width"]


class UNetPrior:
    """A 3D U-Net (see `VideoPrior`)."""

    fps = 8

    def __init__(
        self,
        unet: Any,
        vae: Any,
        alphas_cumprod: list[float],
        *,
        folder: Path,
        placement: Placement,
        frames: int | None = None,
        height: int | None = None,
        width: int | None = None,
    ) -> None:
        self.space = 2 ** (len(vae.config.block_out_channels) - 1)
        size = unet.config.sample_size * self.space
        self.frames, self.height, self.width = frames or 16, height or size, width or size
        cell = self.space * 2 ** (len(unet.config.block_out_channels) - 1)
        if self.height % cell or self.width % cell:
            raise KinemaError(f"{self.width} x {self.height}: this U-Net needs sides divisible by {cell}")
        self.placement, self.folder = placement, folder
        self.alphas_cumprod = alphas_cumprod
        self.vae = place(vae, placement)
        if placement.tiling:
            self.vae.enable_tiling()
        blocks = nn.ModuleList([*unet.down_blocks, unet.mid_block, *unet.up_blocks])
        self.unet = place(unet, placement, blocks=blocks)
        self.texts: dict[str, Tensor] = {}

    @staticmethod
    def load(folder: Path, placement: Placement, **size: int | None) -> "UNetPrior":
        """From a checkpoint folder in diffusers' layout."""
        from diffusers import AutoencoderKL, DDIMScheduler, UNet3DConditionModel

        # The checkpoints name several samplers; all carry the same noise schedule, which is all that is used of them.
        scheduler = read_scheduler(DDIMScheduler, folder)
        if scheduler.config.prediction_type != "epsilon":
            raise KinemaError(f"{folder}: prediction_type {scheduler.config.prediction_type}, known here is epsilon")
        return UNetPrior(
            read_part(UNet3DConditionModel, folder, "unet", dtype=placement.dtype),
            read_part(AutoencoderKL, folder, "vae", dtype=placement.dtype),
            scheduler.alphas_cumprod.tolist(),
            folder=folder,
            placement=placement,
            **size,
        )

    def condition(self, prompt: str, shot: Shot) -> UNetCondition:
        """CLIP's embedding of the prompt."""
        if prompt not in self.texts:
            embedding = cached_embedding(
                self.folder / "text_encoder",
                prompt,
                lambda prompts: embed_texts(self.folder, prompts, placement=self.placement),
                options=f"unet {self.placement.dtype}",
            )
            self.texts[prompt] = embedding["text"].to(self.placement.device)
        return UNetCondition(self.texts[prompt])

    def encode(
        self, video: Float[Tensor, "frames 3 height width"], shot: Shot
    ) -> Float[Tensor, "frames channels latent_height latent_width"]:
        """The VAE's mean, scaled as the pipeline does; differentiable at the memory of one frame."""
        if tuple(video.shape) != (self.frames, 3, self.height, self.width):
            raise KinemaError(
                f"video of shape {tuple(video.shape)}; this prior takes {self.frames} frames of "
                f"{self.width} x {self.height}"
            )
        pixels = (2 * video - 1).to(self.placement.device, self.vae.dtype)
        if self.placement.checkpointing:
            frames = [
                checkpoint(self._encode_frame, frame[None], use_reentrant=False, preserve_rng_state=False)
                for frame in pixels
            ]
        else:
            frames = [self._encode_frame(pixels)]
        return torch.cat(frames).to(video) * self.vae.config.scaling_factor

    @torch.no_grad()
    def decode(self, latents: Tensor, shot: Shot) -> Float[Tensor, "frames 3 height width"]:
        """The VAE's decoder, frame by frame."""
        scaled = latents.to(self.placement.device, self.vae.dtype) / self.vae.config.scaling_factor
        video = torch.cat([self.vae.decode(frame[None]).sample for frame in scaled])
        return (video.to(latents) / 2 + 0.5).clamp(0, 1)

    def add_noise(self, clean: Tensor, noise: Tensor, t: float) -> Tensor:
        """√ᾱ z + √(1-ᾱ) ε."""
        _, signal, sigma = self._level(t)
        return signal * clean + sigma * noise

    @torch.no_grad()
    def denoise(self, noisy: Tensor, t: float, conditions: list[UNetCondition]) -> list[Tensor]:
        """ẑ = (z_t - √(1-ᾱ) ε) / √ᾱ."""
        step, signal, sigma = self._level(t)
        groups = [[condition] for condition in conditions] if self.placement.offload else [conditions]
        return [(noisy - sigma * e.to(noisy)) / signal for group in groups for e in self._noise(noisy, step, group)]

    def _noise(self, noisy: Tensor, step: int, conditions: list[UNetCondition]) -> Tensor:
        z = noisy.to(self.placement.device, self.placement.dtype).transpose(0, 1)
        noise = self.unet(
            torch.stack([z] * len(conditions)),
            step,
            encoder_hidden_states=torch.stack([condition.text for condition in conditions]),
            return_dict=False,
        )[0]
        return noise.transpose(1, 2)

    def _encode_frame(self, pixels: Tensor) -> Tensor:
        return self.vae.encode(pixels).latent_dist.mode()

    def _level(self, t: float) -> tuple[int, float, float]:
        """The training step at a share of the schedule, and its √ᾱ and √(1-ᾱ)."""
        last = len(self.alphas_cumprod) - 1
        step = min(max(round(t * last), 0), last)
        abar = self.alphas_cumprod[step]
        return step, math.sqrt(abar), math.sqrt(1 - abar)


@torch.no_grad()
def embed_texts(folder: Path, prompts: list[str], *, placement: Placement) -> list[Embedding]:
    """CLIP's last states; the encoder is freed on return."""
    from transformers import CLIPTextModel

    encoder = read_part(CLIPTextModel, folder, "text_encoder", dtype=placement.dtype).to(placement.text_device)
    tokenizer = read_tokenizer(folder)
    ids = tokenizer(
        prompts, padding="max_length", max_length=tokenizer.model_max_length, truncation=True, return_tensors="pt"
    ).input_ids
    return [{"text": states} for states in encoder(ids.to(placement.text_device))[0]]
