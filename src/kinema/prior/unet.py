"""Text-to-video U-Nets behind `VideoPrior`: epsilon prediction in an image VAE (ModelScope, Zeroscope).

Latents are [frames, channels, height / 8, width / 8], in the dtype and on the device of the video.
"""

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, check_video, noise_level, place, read_part, read_scheduler
from kinema.prior.protocol import Context, Needs
from kinema.prior.text_cache import Embedding, PromptEmbeddings, text_states


class UNetPrior:
    """A 3D U-Net (see `VideoPrior`)."""

    needs, read = Needs(fps=8.0), None

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
        self.texts = PromptEmbeddings(folder, placement, self._embed, options="unet")

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

    def condition(self, prompt: str, context: Context) -> Embedding:
        """CLIP's embedding of the prompt."""
        return self.texts(prompt)

    def encode(
        self, video: Float[Tensor, "frames 3 height width"], context: Context
    ) -> Float[Tensor, "frames channels latent_height latent_width"]:
        """The VAE's mean, scaled as the pipeline does; differentiable at the memory of one frame."""
        check_video(self, video)
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
    def decode(self, latents: Tensor, context: Context) -> Float[Tensor, "frames 3 height width"]:
        """The VAE's decoder, frame by frame."""
        scaled = latents.to(self.placement.device, self.vae.dtype) / self.vae.config.scaling_factor
        video = torch.cat([self.vae.decode(frame[None]).sample for frame in scaled])
        return (video.to(latents) / 2 + 0.5).clamp(0, 1)

    def add_noise(self, clean: Tensor, noise: Tensor, t: float) -> Tensor:
        """√ᾱ z + √(1-ᾱ) ε."""
        _, signal, sigma = noise_level(self.alphas_cumprod, t)
        return signal * clean + sigma * noise

    @torch.no_grad()
    def denoise(self, noisy: Tensor, t: float, conditions: list[Embedding]) -> list[Tensor]:
        """ẑ = (z_t - √(1-ᾱ) ε) / √ᾱ."""
        step, signal, sigma = noise_level(self.alphas_cumprod, t)
        groups = [[condition] for condition in conditions] if self.placement.offload else [conditions]
        return [(noisy - sigma * e.to(noisy)) / signal for group in groups for e in self._noise(noisy, step, group)]

    def _noise(self, noisy: Tensor, step: int, conditions: list[Embedding]) -> Tensor:
        z = noisy.to(self.placement.device, self.placement.dtype).transpose(0, 1)
        noise = self.unet(
            torch.stack([z] * len(conditions)),
            step,
            encoder_hidden_states=torch.stack([condition["text"] for condition in conditions]),
            return_dict=False,
        )[0]
        return noise.transpose(1, 2)

    def _encode_frame(self, pixels: Tensor) -> Tensor:
        return self.vae.encode(pixels).latent_dist.mode()

    def _embed(self, prompts: list[str]) -> list[Embedding]:
        """CLIP's last states."""
        from transformers import CLIPTextModel

        states, _ = text_states(CLIPTextModel, self.folder, prompts, tokens=None, placement=self.placement)
        return [{"text": row} for row in states]
