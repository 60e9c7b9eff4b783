"""Text-to-video U-Nets behind `VideoPrior`: epsilon prediction in an image VAE (ModelScope, Zeroscope).

Latents are [frames, channels, height / 8, width / 8], in the dtype and on the device of the video.
"""

from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKL, DDIMScheduler, UNet3DConditionModel
from torch import Tensor, nn
from transformers import CLIPTextModel

from kinema.prior.checkpoint import Placement, place, read_alphas, read_part
from kinema.prior.latents import Latents, check_video, recompute, video_size
from kinema.prior.noise import add_diffusion_noise, noise_level, predictions
from kinema.prior.protocol import Context, Needs, Video
from kinema.prior.text_cache import Embedding, PromptEmbeddings


class UNetPrior:
    """A 3D U-Net (see `VideoPrior`)."""

    needs, read, motions = Needs(fps=8.0), None, ()
    add_noise = add_diffusion_noise

    def __init__(
        self, unet: Any, vae: Any, alphas: list[float], *, folder: Path, placement: Placement, **size: int | None
    ) -> None:
        space = 2 ** (len(vae.config.block_out_channels) - 1)
        side, cell = unet.config.sample_size * space, space * 2 ** (len(unet.config.block_out_channels) - 1)
        self.frames, self.height, self.width = video_size("this U-Net", (16, side, side), time=1, cell=cell, **size)
        self.placement, self.alphas = placement, alphas
        self.device = placement.device
        self.vae = place(vae, placement)
        blocks = nn.ModuleList([*unet.down_blocks, unet.mid_block, *unet.up_blocks])
        self.unet = place(unet, placement, blocks=blocks)
        self.texts = PromptEmbeddings(folder, placement, CLIPTextModel, tokens=None)

    @staticmethod
    def load(folder: Path, placement: Placement, **size: int | None) -> "UNetPrior":
        """From a checkpoint folder in diffusers' layout."""
        alphas = read_alphas(DDIMScheduler, folder, prediction="epsilon")
        unet = read_part(UNet3DConditionModel, folder, "unet", dtype=placement.dtype)
        vae = read_part(AutoencoderKL, folder, "vae", dtype=placement.dtype)
        return UNetPrior(unet, vae, alphas, folder=folder, placement=placement, **size)

    def condition(self, prompt: str, context: Context) -> Embedding:
        """CLIP's embedding of the prompt."""
        return self.texts(prompt)

    def encode(self, video: Video, context: Context) -> Latents:
        """The VAE's mean, scaled as the pipeline does; differentiable at the memory of one frame."""
        check_video(self, video)
        pixels = (2 * video - 1).to(self.placement.device, self.vae.dtype)
        if self.placement.checkpointing:
            frames = [recompute(self._encode_frames, frame[None]) for frame in pixels]
        else:
            frames = [self._encode_frames(pixels)]
        return torch.cat(frames).to(video) * self.vae.config.scaling_factor

    @torch.no_grad()
    def decode(self, latents: Latents, context: Context) -> Video:
        """The VAE's decoder, frame by frame."""
        scaled = latents.to(self.placement.device, self.vae.dtype) / self.vae.config.scaling_factor
        video = torch.cat([self.vae.decode(frame[None]).sample for frame in scaled])
        return (video.to(latents) / 2 + 0.5).clamp(0, 1)

    @torch.no_grad()
    def denoise(self, noisy: Tensor, t: float, conditions: list[Embedding]) -> list[Tensor]:
        """ẑ = (z_t - √(1-ᾱ) ε) / √ᾱ."""
        step, signal, sigma = noise_level(self.alphas, t)
        return [(noisy - sigma * e) / signal for e in predictions(self, noisy, step, conditions)]

    def predict(self, z: Tensor, step: int, given: Embedding) -> Tensor:
        """The noise ε."""
        return self.unet(z.transpose(1, 2), step, given["text"], return_dict=False)[0].transpose(1, 2)

    def _encode_frames(self, pixels: Tensor) -> Tensor:
        return self.vae.encode(pixels).latent_dist.mode()
