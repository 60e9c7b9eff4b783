"""Wan 2.1 and 2.2 text-to-video behind `VideoPrior`: flow matching in a causal 3D VAE.

Latents are [latent frames, channels, height / 8, width / 8] (16 for the 5B), in the dtype and on the device of the
video, with zero mean and unit variance per channel.
"""

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, check_video, place, read_json, read_part, shifted
from kinema.prior.protocol import Context, Needs
from kinema.prior.text_cache import Embedding, PromptEmbeddings, text_states

TOKENS = 512
"""Text tokens that the pipeline feeds, zeros after the prompt's end."""


class WanPrior:
    """Wan (see `VideoPrior`)."""

    needs, read = Needs(fps=16.0), None

    def __init__(
        self,
        transformer: Any,
        vae: Any,
        *,
        shift: float,
        folder: Path,
        placement: Placement,
        low_noise: Any = None,
        boundary: float = 0.0,
        time_per_token: bool = False,
        frames: int | None = None,
        height: int | None = None,
        width: int | None = None,
    ) -> None:
        self.space, self.time = vae.config.scale_factor_spatial, vae.config.scale_factor_temporal
        self.frames, self.height, self.width = frames or 81, height or 480, width or 832
        self.patch = transformer.config.patch_size
        cell = self.space * self.patch[1]
        if self.frames % self.time != 1 or self.height % cell or self.width % cell:
            raise KinemaError(
                f"{self.frames} frames of {self.width} x {self.height}: Wan needs {self.time}k + 1 frames and sides "
                f"divisible by {cell}"
            )
        self.shift, self.boundary, self.time_per_token = shift, boundary, time_per_token
        self.placement, self.folder = placement, folder
        self.vae = place(checkpointed(vae, placement), placement)
        if placement.tiling:
            self.vae.enable_tiling()
        self.mean = torch.tensor(vae.config.latents_mean)[:, None, None]
        self.deviation = torch.tensor(vae.config.latents_std)[:, None, None]
        self.transformer = place(transformer, placement, blocks=transformer.blocks)
        # The 14B of Wan 2.2 has a second expert for noise below the boundary.
        self.low_noise = None if low_noise is None else place(low_noise, placement, blocks=low_noise.blocks)
        self.texts = PromptEmbeddings(folder, placement, self._embed, options="wan")

    @staticmethod
    def load(folder: Path, placement: Placement, **size: int | None) -> "WanPrior":
        """From a checkpoint folder in diffusers' layout."""
        from diffusers import AutoencoderKLWan, WanTransformer3DModel

        index, schedule = (read_json(folder / name) for name in ("model_index.json", "scheduler/scheduler_config.json"))
        boundary = index.get("boundary_ratio")
        low_noise = None
        if boundary is not None:
            low_noise = read_part(WanTransformer3DModel, folder, "transformer_2", dtype=placement.dtype)
        return WanPrior(
            read_part(WanTransformer3DModel, folder, "transformer", dtype=placement.dtype),
            # The pipelines keep this VAE in single precision: half of it shows as flicker.
            read_part(AutoencoderKLWan, folder, "vae", dtype=torch.float32),
            shift=schedule.get("flow_shift") or schedule.get("shift") or 1.0,
            folder=folder,
            placement=placement,
            low_noise=low_noise,
            boundary=boundary or 0.0,
            time_per_token=bool(index.get("expand_timesteps")),
            **size,
        )

    def condition(self, prompt: str, context: Context) -> Embedding:
        """UMT5's embedding of the prompt."""
        return self.texts(prompt)

    def encode(
        self, video: Float[Tensor, "frames 3 height width"], context: Context
    ) -> Float[Tensor, "latent_frames channels latent_height latent_width"]:
        """The VAE's mean, normalised per channel; differentiable at the memory of one chunk of four frames."""
        check_video(self, video)
        pixels = (2 * video - 1).to(self.placement.device, self.vae.dtype).transpose(0, 1)[None]
        latents = self.vae.encode(pixels).latent_dist.mode()[0].transpose(0, 1).to(video)
        return (latents - self.mean.to(latents)) / self.deviation.to(latents)

    @torch.no_grad()
    def decode(self, latents: Tensor, context: Context) -> Float[Tensor, "frames 3 height width"]:
        """The VAE's decoder, one latent frame after the other."""
        raw = (latents * self.deviation.to(latents) + self.mean.to(latents)).to(self.placement.device, self.vae.dtype)
        video = self.vae.decode(raw.transpose(0, 1)[None]).sample[0].transpose(0, 1)
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
        z = noisy.to(self.placement.device, self.placement.dtype).transpose(0, 1)
        step = torch.full((len(conditions),), int(1000 * sigma), device=z.device)
        if self.time_per_token:
            tokens = z.shape[1] * (z.shape[2] // self.patch[1]) * (z.shape[3] // self.patch[2])
            step = step[:, None].expand(-1, tokens)
        expert = self.transformer if self.low_noise is None or sigma >= self.boundary else self.low_noise
        velocity = expert(
            hidden_states=torch.stack([z] * len(conditions)),
            timestep=step,
            encoder_hidden_states=torch.stack([condition["text"] for condition in conditions]),
            return_dict=False,
        )[0]
        return velocity.transpose(1, 2)

    def _embed(self, prompts: list[str]) -> list[Embedding]:
        """UMT5's last states, zeros after the prompt's end."""
        from transformers import UMT5EncoderModel

        words = [" ".join(prompt.split()) for prompt in prompts]  # the pipeline tidies white space too
        states, mask = text_states(
            UMT5EncoderModel, self.folder, words, tokens=TOKENS, placement=self.placement, mask=True
        )
        return [{"text": row} for row in states * mask[..., None].to(states)]


class CheckpointedLayer(nn.Module):
    """A layer of the encoder, or all of it, recomputed in the backward pass from its input and caches.

    Wan's VAE keeps the last frames that each convolution saw in one list, which every layer changes in place; here a
    layer gets a copy, so that it sees the same caches again when it is recomputed.
    """

    def __init__(self, layer: nn.Module, *, caches_on: str | None = None) -> None:
        super().__init__()
        self.layer, self.caches_on = layer, caches_on

    def forward(self, x: Tensor, feat_cache: list | None = None, feat_idx: list[int] | None = None) -> Tensor:
        if feat_cache is None or feat_idx is None:
            return self.layer(x)
        start = feat_idx[0]

        def run(x: Tensor, *caches: Any) -> tuple:
            changed, index = _moved(caches, x.device), [start]
            y = self.layer(x, feat_cache=changed, feat_idx=index)
            return y, index[0], *_moved(changed, self.caches_on or x.device)

        y, feat_idx[0], *changed = checkpoint(run, x, *feat_cache, use_reentrant=False, preserve_rng_state=False)
        feat_cache[:] = changed
        return y


def _moved(caches: Any, device: torch.device | str) -> list:
    return [cache.to(device) if isinstance(cache, Tensor) else cache for cache in caches]


def checkpointed(vae: Any, placement: Placement) -> Any:
    """Chunks of four frames are recomputed one by one, and in a chunk one layer after the other."""
    if not placement.checkpointing:
        return vae
    layers = vae.encoder.down_blocks
    for k, layer in enumerate(layers):
        layers[k] = CheckpointedLayer(layer)
    vae.encoder = CheckpointedLayer(vae.encoder, caches_on=placement.host if placement.offload else None)
    return vae
