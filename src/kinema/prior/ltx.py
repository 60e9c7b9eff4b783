"""LTX-Video behind `VideoPrior`: flow matching in a VAE that is compressed 32 x 32 x 8.

Latents are [latent frames, channels, height / 32, width / 32], in the dtype and on the device of the video, with zero
mean and unit variance per channel.
"""

import math
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, check_video, place, read_part, read_scheduler, shifted
from kinema.prior.protocol import Context, Needs
from kinema.prior.text_cache import Embedding, PromptEmbeddings, text_states

TOKENS = 128
"""Text tokens that the pipeline feeds."""


class LTXPrior:
    """LTX-Video (see `VideoPrior`)."""

    needs, read = Needs(fps=25.0), None

    def __init__(
        self,
        transformer: Any,
        vae: Any,
        schedule: Any,
        *,
        folder: Path,
        placement: Placement,
        frames: int | None = None,
        height: int | None = None,
        width: int | None = None,
    ) -> None:
        self.space, self.time = vae.spatial_compression_ratio, vae.temporal_compression_ratio
        self.frames, self.height, self.width = frames or 161, height or 512, width or 704
        if self.frames % self.time != 1 or self.height % self.space or self.width % self.space:
            raise KinemaError(
                f"{self.frames} frames of {self.width} x {self.height}: LTX needs {self.time}k + 1 frames and sides "
                f"divisible by {self.space}"
            )
        # Longer videos are noised more: the shift e^μ is linear in the number of tokens, as in the pipeline.
        tokens = ((self.frames - 1) // self.time + 1) * (self.height // self.space) * (self.width // self.space)
        low, high = schedule.get("base_image_seq_len", 256), schedule.get("max_image_seq_len", 4096)
        base, top = schedule.get("base_shift", 0.5), schedule.get("max_shift", 1.15)
        mu = base + (top - base) * (tokens - low) / (high - low)
        self.shift = math.exp(mu) if schedule.get("use_dynamic_shifting") else schedule.get("shift", 1.0)
        self.placement, self.folder = placement, folder
        # Compressed 4 x 4 before the first convolution, its frames need no slicing; blocks are recomputed one by one.
        if placement.checkpointing:
            vae.enable_gradient_checkpointing()
        self.vae = place(vae, placement)
        if placement.tiling:
            self.vae.enable_tiling()
        self.transformer = place(transformer, placement, blocks=transformer.transformer_blocks)
        self.texts = PromptEmbeddings(folder, placement, self._embed, options="ltx")

    @staticmethod
    def load(folder: Path, placement: Placement, **size: int | None) -> "LTXPrior":
        """From a checkpoint folder in diffusers' layout."""
        from diffusers import AutoencoderKLLTXVideo, FlowMatchEulerDiscreteScheduler, LTXVideoTransformer3DModel

        return LTXPrior(
            read_part(LTXVideoTransformer3DModel, folder, "transformer", dtype=placement.dtype),
            read_part(AutoencoderKLLTXVideo, folder, "vae", dtype=placement.dtype),
            read_scheduler(FlowMatchEulerDiscreteScheduler, folder).config,
            folder=folder,
            placement=placement,
            **size,
        )

    def condition(self, prompt: str, context: Context) -> Embedding:
        """T5's embedding of the prompt, and which of its tokens are words."""
        return self.texts(prompt)

    def encode(
        self, video: Float[Tensor, "frames 3 height width"], context: Context
    ) -> Float[Tensor, "latent_frames channels latent_height latent_width"]:
        """The VAE's mean, normalised per channel; differentiable with checkpoints."""
        check_video(self, video)
        pixels = (2 * video - 1).to(self.placement.device, self.vae.dtype).transpose(0, 1)[None]
        latents = self.vae.encode(pixels).latent_dist.mode()[0].transpose(0, 1).to(video)
        mean, deviation = self._statistics(latents)
        return (latents - mean) / deviation

    @torch.no_grad()
    def decode(self, latents: Tensor, context: Context) -> Float[Tensor, "frames 3 height width"]:
        """The VAE's decoder; one that denoises as its last step is told that nothing is left to denoise."""
        mean, deviation = self._statistics(latents)
        raw = (latents * deviation + mean).to(self.placement.device, self.vae.dtype).transpose(0, 1)[None]
        step = raw.new_zeros(1) if self.vae.config.timestep_conditioning else None
        video = self.vae.decode(raw, step).sample[0].transpose(0, 1)
        return (video.to(latents) / 2 + 0.5).clamp(0, 1)

    def add_noise(self, clean: Tensor, noise: Tensor, t: float) -> Tensor:
        """(1-σ) z + σ ε."""
        sigma = shifted(t, self.shift)
        return (1 - sigma) * clean + sigma * noise

    @torch.no_grad()
    def denoise(self, noisy: Tensor, t: float, conditions: list[Embedding]) -> list[Tensor]:
        """ẑ = z_t - σ v, where v = ε - z."""
        sigma = shifted(t, self.shift)
        groups = [[condition] for condition in conditions] if self.placement.offload else [conditions]
        return [noisy - sigma * v.to(noisy) for group in groups for v in self._velocity(noisy, sigma, group)]

    def _velocity(self, noisy: Tensor, sigma: float, conditions: list[Embedding]) -> Tensor:
        frames, channels, rows, columns = noisy.shape
        z = noisy.to(self.placement.device, self.placement.dtype)
        tokens = z.permute(0, 2, 3, 1).reshape(-1, channels)
        velocity = self.transformer(
            hidden_states=torch.stack([tokens] * len(conditions)),
            encoder_hidden_states=torch.stack([condition["text"] for condition in conditions]),
            timestep=torch.full((len(conditions),), 1000 * sigma, device=z.device),
            encoder_attention_mask=torch.stack([condition["mask"] for condition in conditions]),
            num_frames=frames,
            height=rows,
            width=columns,
            # Positions are seconds and pixels.
            rope_interpolation_scale=(self.time / self.needs.fps, self.space, self.space),
            return_dict=False,
        )[0]
        return velocity.reshape(-1, frames, rows, columns, channels).permute(0, 1, 4, 2, 3)

    def _statistics(self, like: Tensor) -> tuple[Tensor, Tensor]:
        mean, deviation = (x.to(like)[:, None, None] for x in (self.vae.latents_mean, self.vae.latents_std))
        return mean, deviation / self.vae.config.scaling_factor

    def _embed(self, prompts: list[str]) -> list[Embedding]:
        """T5's last states; the mask goes to the denoiser, not to T5, as in the pipeline."""
        from transformers import T5EncoderModel

        states, mask = text_states(T5EncoderModel, self.folder, prompts, tokens=TOKENS, placement=self.placement)
        return [{"text": text, "mask": words} for text, words in zip(states, mask.bool())]
