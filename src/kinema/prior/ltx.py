"""LTX-Video behind `VideoPrior`: flow matching in a VAE that is compressed 32 x 32 x 8; from text, or from an image.

Latents are [latent frames, channels, height / 32, width / 32], in the dtype and on the device of the video, with zero
mean and unit variance per channel.
"""

import math
from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKLLTXVideo, LTXVideoTransformer3DModel
from torch import Tensor
from transformers import T5EncoderModel

from kinema.prior.checkpoint import Placement, place, read_json, read_part
from kinema.prior.latents import Latents, check_video, decode_raw, encode_mean, video_size
from kinema.prior.noise import add_flow_noise, flow_estimates
from kinema.prior.protocol import Context, Needs, Video
from kinema.prior.text_cache import Embedding, PromptEmbeddings


class LTXPrior:
    """LTX-Video (see `VideoPrior`)."""

    read, motions = None, ()
    add_noise, denoise = add_flow_noise, flow_estimates

    def __init__(
        self, transformer: Any, vae: Any, schedule: Any, *, folder: Path, placement: Placement,
        from_image: bool = False, **size: int | None,
    ) -> None:  # fmt: skip
        """From its parts; `from_image`: the same weights continue the first frame of each window."""
        self.from_image = from_image
        shown: Any = {"reference": "start"} if from_image else {"reference": "nothing", "engines": ("sds",)}
        self.needs = Needs(fps=25.0, **shown)
        self.space, self.time, self.placement = vae.spatial_compression_ratio, vae.temporal_compression_ratio, placement
        default = 161, 512, 704
        self.frames, self.height, self.width = video_size("LTX", default, time=self.time, cell=self.space, **size)
        # Longer videos are noised more: the shift e^μ is linear in the number of tokens, as in the pipeline.
        tokens = ((self.frames - 1) // self.time + 1) * (self.height // self.space) * (self.width // self.space)
        low, high = schedule.get("base_image_seq_len", 256), schedule.get("max_image_seq_len", 4096)
        base, top = schedule.get("base_shift", 0.5), schedule.get("max_shift", 1.15)
        mu = base + (top - base) * (tokens - low) / (high - low)
        self.shift = math.exp(mu) if schedule.get("use_dynamic_shifting") else schedule.get("shift", 1.0)
        # Compressed 4 x 4 before the first convolution, its frames need no slicing; blocks are recomputed one by one.
        if placement.checkpointing:
            vae.enable_gradient_checkpointing()
        self.device = placement.device
        self.vae = place(vae, placement)
        self.transformer = place(transformer, placement, blocks=transformer.transformer_blocks)
        # As in the pipeline the mask goes to the denoiser, not to T5.
        self.texts = PromptEmbeddings(folder, placement, T5EncoderModel, tokens=128)

    @staticmethod
    def load(folder: Path, placement: Placement, *, from_image: bool = False, **size: int | None) -> "LTXPrior":
        """From a checkpoint folder in diffusers' layout."""
        schedule = read_json(folder / "scheduler" / "scheduler_config.json")
        transformer = read_part(LTXVideoTransformer3DModel, folder, "transformer", dtype=placement.dtype)
        vae = read_part(AutoencoderKLLTXVideo, folder, "vae", dtype=placement.dtype)
        return LTXPrior(transformer, vae, schedule, folder=folder, placement=placement, from_image=from_image, **size)

    def condition(self, prompt: str, context: Context) -> Embedding:
        """T5's embedding of the prompt, which of its tokens are words, and the latents of a given first frame."""
        return self.texts(prompt) | ({"image": self._image(context)} if self.from_image else {})

    def encode(self, video: Video, context: Context) -> Latents:
        """The VAE's mean, normalised per channel; differentiable with checkpoints."""
        check_video(self, video)
        return self._normalised(encode_mean(self, video).to(video))

    @torch.no_grad()
    def decode(self, latents: Latents, context: Context) -> Video:
        """The VAE's decoder; one that denoises as its last step is told that nothing is left to denoise."""
        mean, deviation = self._statistics(latents)
        step = (
            torch.zeros(1).to(self.placement.device, self.vae.dtype) if self.vae.config.timestep_conditioning else None
        )
        return decode_raw(self, latents * deviation + mean, step, like=latents)

    def predict(self, z: Tensor, sigma: float, given: Embedding) -> Tensor:
        """The flow's velocity; that of a first frame which is given leads to that frame."""
        batch, frames, channels, rows, columns = z.shape
        shown, step = z, torch.full((batch,), 1000 * sigma, device=z.device)
        if self.from_image:  # its tokens are clean, and are told so
            shown = torch.cat((given["image"].to(z), z[:, 1:]), 1)
            later = torch.arange(frames * rows * columns, device=z.device) >= rows * columns
            step = step[:, None] * later
        velocity = self.transformer(
            hidden_states=shown.permute(0, 1, 3, 4, 2).reshape(batch, -1, channels),
            encoder_hidden_states=given["text"],
            timestep=step,
            encoder_attention_mask=given["mask"],
            num_frames=frames,
            height=rows,
            width=columns,
            # Positions are seconds and pixels.
            rope_interpolation_scale=(self.time / self.needs.fps, self.space, self.space),
            return_dict=False,
        )[0]
        velocity = velocity.reshape(-1, frames, rows, columns, channels).permute(0, 1, 4, 2, 3)
        # z - σ v is then the frame.
        return torch.cat(((z - shown)[:, :1] / sigma, velocity[:, 1:]), 1) if self.from_image else velocity

    @torch.no_grad()
    def _image(self, context: Context) -> Tensor:
        return self._normalised(encode_mean(self, context.reference[:1]))

    def _normalised(self, latents: Tensor) -> Latents:
        mean, deviation = self._statistics(latents)
        return (latents - mean) / deviation

    def _statistics(self, like: Tensor) -> tuple[Tensor, Tensor]:
        mean, deviation = (x.to(like)[:, None, None] for x in (self.vae.latents_mean, self.vae.latents_std))
        return mean, deviation / self.vae.config.scaling_factor
