"""Wan 2.1 and 2.2 text-to-video behind `VideoPrior`: flow matching in a causal 3D VAE.

Latents are [latent frames, channels, height / 8, width / 8] (16 for the 5B), in the dtype and on the device of the
video, with zero mean and unit variance per channel.
"""

from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKLWan, WanTransformer3DModel
from torch import Tensor, nn
from transformers import UMT5EncoderModel

from kinema.prior.checkpoint import Placement, place, read_json, read_part
from kinema.prior.latents import Latents, check_video, decode_raw, encode_mean, moved, recompute, video_size
from kinema.prior.noise import add_flow_noise, flow_estimates
from kinema.prior.protocol import Context, Needs, Video
from kinema.prior.text_cache import Embedding, PromptEmbeddings

PUBLISHED, PUBLISHED_5B = (81, 480, 832), (121, 704, 1280)
"""Frames, height and width that Wan's models were published with; the 5B of 2.2 at 24 frames per second, not 16."""


class WanPrior:
    """Wan (see `VideoPrior`)."""

    read, motions = None, ()
    add_noise, denoise = add_flow_noise, flow_estimates

    def __init__(
        self, experts: list[Any], vae: Any, config: Any, *, folder: Path, placement: Placement, **size: int | None
    ) -> None:
        """From its parts.

        Args:
            experts: its transformer, or for the 14B of Wan 2.2 those above and below the noise `boundary_ratio`.
            config: entries of the checkpoint's index and of its noise schedule.
        """
        self.config, self.placement, self.patch = config, placement, experts[0].config.patch_size
        cell, time = vae.config.scale_factor_spatial * self.patch[1], vae.config.scale_factor_temporal
        self.token_times = bool(config.get("expand_timesteps"))  # the 5B: a time for every token
        self.needs = Needs(fps=24.0 if self.token_times else 16.0, reference="nothing", engines=("sds",))
        default = PUBLISHED_5B if self.token_times else PUBLISHED
        self.frames, self.height, self.width = video_size("Wan", default, time=time, cell=cell, **size)
        self.shift = config.get("flow_shift") or config.get("shift") or 1.0
        if placement.checkpointing:
            # Chunks of four frames are recomputed one by one, and in a chunk one layer after the other.
            for k, layer in enumerate(vae.encoder.down_blocks):
                vae.encoder.down_blocks[k] = CheckpointedLayer(layer)
            vae.encoder = CheckpointedLayer(vae.encoder, caches_on=placement.host if placement.offload else None)
        self.device = placement.device
        self.vae = place(vae, placement)
        self.mean = torch.tensor(vae.config.latents_mean)[:, None, None]
        self.deviation = torch.tensor(vae.config.latents_std)[:, None, None]
        self.experts = [place(expert, placement, blocks=expert.blocks) for expert in experts]
        self.texts = PromptEmbeddings(folder, placement, UMT5EncoderModel, tokens=512, mask=True)

    @staticmethod
    def load(folder: Path, placement: Placement, **size: int | None) -> "WanPrior":
        """From a checkpoint folder in diffusers' layout."""
        index, schedule = (read_json(folder / name) for name in ("model_index.json", "scheduler/scheduler_config.json"))
        parts = ["transformer"] if index.get("boundary_ratio") is None else ["transformer", "transformer_2"]
        experts = [read_part(WanTransformer3DModel, folder, part, dtype=placement.dtype) for part in parts]
        # The pipelines keep this VAE in single precision: half of it shows as flicker.
        vae = read_part(AutoencoderKLWan, folder, "vae", dtype=torch.float32)
        return WanPrior(experts, vae, index | schedule, folder=folder, placement=placement, **size)

    def condition(self, prompt: str, context: Context) -> Embedding:
        """UMT5's embedding of the prompt, zeros after its end; the pipeline tidies white space too."""
        return self.texts(" ".join(prompt.split()))

    def encode(self, video: Video, context: Context) -> Latents:
        """The VAE's mean, normalised per channel; differentiable at the memory of one chunk of four frames."""
        check_video(self, video)
        latents = encode_mean(self, video).to(video)
        return (latents - self.mean.to(latents)) / self.deviation.to(latents)

    @torch.no_grad()
    def decode(self, latents: Latents, context: Context) -> Video:
        """The VAE's decoder, one latent frame after the other."""
        return decode_raw(self, latents * self.deviation.to(latents) + self.mean.to(latents), like=latents)

    def predict(self, z: Tensor, sigma: float, given: Embedding) -> Tensor:
        """The flow's velocity."""
        step = torch.full((len(z),), int(1000 * sigma), device=z.device)
        if self.token_times:
            tokens = z.shape[1] * (z.shape[3] // self.patch[1]) * (z.shape[4] // self.patch[2])
            step = step[:, None].expand(-1, tokens)
        expert = self.experts[0 if sigma >= (self.config.get("boundary_ratio") or 0.0) else 1]
        return expert(z.transpose(1, 2), step, given["text"], return_dict=False)[0].transpose(1, 2)


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
            changed, index = moved(list(caches), x.device), [start]
            y = self.layer(x, feat_cache=changed, feat_idx=index)
            return y, index[0], *moved(changed, self.caches_on or x.device)

        y, feat_idx[0], *changed = recompute(run, x, *feat_cache)
        feat_cache[:] = changed
        return y
