"""CogVideoX 2B, 5B and 1.5, text-to-video and image-to-video, behind `VideoPrior`: v-prediction in a causal 3D VAE.

Latents are [latent frames, channels, height / 8, width / 8], in the dtype and on the device of the video.
"""

from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKLCogVideoX, CogVideoXDDIMScheduler, CogVideoXTransformer3DModel
from diffusers.models.embeddings import get_3d_rotary_pos_embed
from diffusers.pipelines.cogvideo.pipeline_cogvideox import get_resize_crop_region_for_grid
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten
from transformers import T5EncoderModel

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, place, read_alphas, read_part
from kinema.prior.latents import Latents, check_video, decode_raw, encode_mean, moved, recompute, video_size
from kinema.prior.noise import add_diffusion_noise, noise_level, predictions
from kinema.prior.protocol import Context, Needs, Video
from kinema.prior.text_cache import Embedding, PromptEmbeddings

PUBLISHED_1_5 = 81, 768, 1360
"""Frames, height and width of CogVideoX 1.5. Its configuration holds the greatest grid of positions instead (300)."""
OFS = 2.0
"""The motion offset that the 1.5 image-to-video pipeline feeds."""


class CogVideoXPrior:
    """CogVideoX (see `VideoPrior`)."""

    read, motions = None, ()
    add_noise = add_diffusion_noise

    def __init__(
        self, transformer: Any, vae: Any, alphas: list[float], *, folder: Path, placement: Placement, **size: int | None
    ) -> None:
        config, self.placement, self.alphas = transformer.config, placement, alphas
        space, time = 2 ** (len(vae.config.block_out_channels) - 1), int(vae.config.temporal_compression_ratio)
        cell = space * config.patch_size
        pairs = config.patch_size_t is not None
        default = config.sample_frames, config.sample_height * space, config.sample_width * space
        default = PUBLISHED_1_5 if pairs else default
        self.frames, self.height, self.width = video_size("CogVideoX", default, time=time, cell=cell, **size)
        if config.use_learned_positional_embeddings and (self.height, self.width) != default[1:]:
            given = f"{self.frames} {self.height} {self.width}"
            sides = "{} x {}".format(*default[1:])
            raise KinemaError(f"--video-size {given}: this CogVideoX has learnt the places of {sides}, no others")
        self.latent_frames = (self.frames - 1) // time + 1
        self.padding = -self.latent_frames % (config.patch_size_t or 1)
        self.from_image = config.in_channels == 2 * vae.config.latent_channels
        shown: Any = {"reference": "start"} if self.from_image else {"reference": "nothing", "engines": ("sds",)}
        self.needs = Needs(fps=16.0 if pairs else 8.0, **shown)
        if placement.checkpointing:
            # Chunks are recomputed one by one, and in a chunk one residual block after the other.
            vae.enable_gradient_checkpointing(recomputed)
            vae.encoder.gradient_checkpointing = False  # its blocks do it already
            vae.encoder = CheckpointedEncoder(vae.encoder, caches_on=placement.host if placement.offload else None)
        self.device = placement.device
        self.vae = place(vae, placement)
        self.transformer = place(transformer, placement, blocks=transformer.transformer_blocks)
        grid = self.latent_frames + self.padding, self.height // cell, self.width // cell
        self.rotary = rotary_embedding(config, *grid, device=placement.device)
        # Without a mask, as CogVideoX was trained.
        self.texts = PromptEmbeddings(folder, placement, T5EncoderModel, tokens=config.max_text_seq_length)

    @staticmethod
    def load(folder: Path, placement: Placement, **size: int | None) -> "CogVideoXPrior":
        """From a checkpoint folder in diffusers' layout."""
        alphas = read_alphas(CogVideoXDDIMScheduler, folder, prediction="v_prediction")
        vae = read_part(AutoencoderKLCogVideoX, folder, "vae", dtype=placement.dtype)
        transformer = read_part(CogVideoXTransformer3DModel, folder, "transformer", dtype=placement.dtype)
        return CogVideoXPrior(transformer, vae, alphas, folder=folder, placement=placement, **size)

    def condition(self, prompt: str, context: Context) -> Embedding:
        """T5's embedding of the prompt; for image-to-video also the latents of the context's first frame."""
        return self.texts(prompt) | ({"image": self._image(context)} if self.from_image else {})

    def encode(self, video: Video, context: Context) -> Latents:
        """The VAE's mean, scaled as the pipeline does; differentiable at the memory of one chunk of frames."""
        check_video(self, video)
        latents = encode_mean(self, video) * self.vae.config.scaling_factor
        # 1.5 denoises pairs of latent frames; it was trained with copies of the first one in front. The copies carry
        # no gradient, or the first frame would count twice.
        return torch.cat([latents[: self.padding].detach(), latents]).to(video)

    @torch.no_grad()
    def decode(self, latents: Latents, context: Context) -> Video:
        """The VAE's decoder, in chunks of two latent frames."""
        scaled = latents[self.padding :].to(self.placement.device, self.vae.dtype) / self.vae.config.scaling_factor
        return decode_raw(self, scaled, like=latents)

    @torch.no_grad()
    def denoise(self, noisy: Tensor, t: float, conditions: list[Embedding]) -> list[Tensor]:
        """ẑ = √ᾱ z_t - √(1-ᾱ) v."""
        step, signal, sigma = noise_level(self.alphas, t)
        return [signal * noisy - sigma * v for v in predictions(self, noisy, step, conditions)]

    def predict(self, z: Tensor, step: int, given: Embedding) -> Tensor:
        """v = √ᾱ ε - √(1-ᾱ) z."""
        shown = torch.cat([z, given["image"].to(z)], 2) if self.from_image else z
        steps = torch.full((len(z),), step, device=z.device)
        ofs = None if self.transformer.config.ofs_embed_dim is None else z.new_full((1,), OFS)
        options = {"ofs": ofs, "image_rotary_emb": self.rotary, "return_dict": False}
        return self.transformer(shown, given["text"], steps, **options)[0]

    @torch.no_grad()
    def _image(self, context: Context) -> Tensor:
        scale = self.vae.config.scaling_factor
        # 1.5 was trained on images divided by the factor, and its checkpoint says so.
        image = encode_mean(self, context.reference[:1]) * (
            1 / scale if self.vae.config.invert_scale_latents else scale
        )
        return torch.cat([image, image.new_zeros(self.latent_frames + self.padding - 1, *image.shape[1:])])


class CheckpointedEncoder(nn.Module):
    """The VAE's encoder, of which only a chunk's input and convolution caches are kept for the backward pass.

    The VAE itself cuts the video into chunks of 8 frames and hands each chunk the last frames that every causal
    convolution saw before; each call is recomputed when its gradient is due.
    """

    def __init__(self, encoder: nn.Module, *, caches_on: str | None) -> None:
        super().__init__()
        self.encoder, self.caches_on = encoder, caches_on

    def forward(self, sample: Tensor, temb: None = None, conv_cache: dict | None = None) -> Any:
        return recomputed(self._chunk, sample, conv_cache)

    def _chunk(self, sample: Tensor, conv_cache: dict | None) -> tuple[Tensor, dict]:
        latents, cache = self.encoder(sample, conv_cache=moved(conv_cache, sample.device))
        return latents, moved(cache, self.caches_on or sample.device)


def recomputed(function: Any, *inputs: Any) -> Any:
    """A checkpoint that also lets go of tensors inside of its inputs' dictionaries.

    torch does that only for inputs that are tensors; the caches in a dictionary would stay on the device.
    """
    leaves, structure = tree_flatten(inputs)
    return recompute(lambda *leaves: function(*tree_unflatten(leaves, structure)), *leaves)


def rotary_embedding(config: Any, latent_frames: int, rows: int, columns: int, *, device: str) -> Any:
    """Cosines and sines of the tokens' positions as the pipeline makes them; 2B has sines in its patches instead."""
    if not config.use_rotary_positional_embeddings:
        return None
    height, width = config.sample_height // config.patch_size, config.sample_width // config.patch_size
    if config.patch_size_t is None:
        crop, kind = get_resize_crop_region_for_grid((rows, columns), width, height), {}
    else:
        crop, kind = None, {"grid_type": "slice", "max_size": (height, width)}
        latent_frames = latent_frames // config.patch_size_t
    grid = (rows, columns), latent_frames
    return get_3d_rotary_pos_embed(config.attention_head_dim, crop, *grid, device=torch.device(device), **kind)
