"""CogVideoX 2B, 5B and 1.5, text-to-video and image-to-video, behind `VideoPrior`: v-prediction in a causal 3D VAE.

Latents are [latent frames, channels, height / 8, width / 8], in the dtype and on the device of the video.
"""

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.checkpoint import checkpoint

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, check_video, noise_level, place, read_part, read_scheduler
from kinema.prior.protocol import Context, Needs
from kinema.prior.text_cache import Embedding, PromptEmbeddings, text_states

OFS = 2.0
"""The motion offset that the 1.5 image-to-video pipeline feeds."""


class CogVideoXPrior:
    """CogVideoX (see `VideoPrior`)."""

    read = None

    def __init__(
        self,
        transformer: Any,
        vae: Any,
        alphas_cumprod: list[float],
        *,
        folder: Path,
        placement: Placement,
        frames: int | None = None,
        height: int | None = None,
        width: int | None = None,
    ) -> None:
        config = transformer.config
        self.space = 2 ** (len(vae.config.block_out_channels) - 1)
        self.time = int(vae.config.temporal_compression_ratio)
        self.frames = frames or config.sample_frames
        self.height = height or config.sample_height * self.space
        self.width = width or config.sample_width * self.space
        self.needs = Needs(fps=8.0 if config.patch_size_t is None else 16.0)
        cell = self.space * config.patch_size
        if self.frames % self.time != 1 or self.height % cell or self.width % cell:
            raise KinemaError(
                f"{self.frames} frames of {self.width} x {self.height}: CogVideoX needs {self.time}k + 1 frames and "
                f"sides divisible by {cell}"
            )
        latent_frames = (self.frames - 1) // self.time + 1
        self.padding = -latent_frames % (config.patch_size_t or 1)
        self.from_image = config.in_channels == 2 * vae.config.latent_channels
        self.placement, self.folder = placement, folder
        self.alphas_cumprod = alphas_cumprod
        self.vae = place(checkpointed(vae, placement), placement)
        if placement.tiling:
            self.vae.enable_tiling()
        self.transformer = place(transformer, placement, blocks=transformer.transformer_blocks)
        self.rotary = rotary_embedding(
            config, latent_frames + self.padding, self.height // cell, self.width // cell, device=placement.device
        )
        self.texts = PromptEmbeddings(folder, placement, self._embed, options=f"cogvideox {config.max_text_seq_length}")

    @staticmethod
    def load(folder: Path, placement: Placement, **size: int | None) -> "CogVideoXPrior":
        """From a checkpoint folder in diffusers' layout."""
        from diffusers import AutoencoderKLCogVideoX, CogVideoXDDIMScheduler, CogVideoXTransformer3DModel

        # The checkpoints name two samplers; both carry the same noise schedule, which is all that is used of them.
        scheduler = read_scheduler(CogVideoXDDIMScheduler, folder)
        if scheduler.config.prediction_type != "v_prediction":
            raise KinemaError(
                f"{folder}: prediction_type {scheduler.config.prediction_type}, CogVideoX has v_prediction"
            )
        vae = read_part(AutoencoderKLCogVideoX, folder, "vae", dtype=placement.dtype)
        transformer = read_part(CogVideoXTransformer3DModel, folder, "transformer", dtype=placement.dtype)
        return CogVideoXPrior(
            transformer, vae, scheduler.alphas_cumprod.tolist(), folder=folder, placement=placement, **size
        )

    def condition(self, prompt: str, context: Context) -> Embedding:
        """T5's embedding of the prompt; for image-to-video also the latents of the context's first frame."""
        return self.texts(prompt) | ({"image": self._image(context)} if self.from_image else {})

    def encode(
        self, video: Float[Tensor, "frames 3 height width"], context: Context
    ) -> Float[Tensor, "latent_frames channels latent_height latent_width"]:
        """The VAE's mean, scaled as the pipeline does; differentiable at the memory of one chunk of frames."""
        check_video(self, video)
        latents = self._encode(video) * self.vae.config.scaling_factor
        if self.padding:
            # 1.5 denoises pairs of latent frames; it was trained with copies of the first one in front. The copies
            # carry no gradient, or the first frame would count twice.
            latents = torch.cat([latents[: self.padding].detach(), latents])
        return latents.to(video)

    @torch.no_grad()
    def decode(self, latents: Tensor, context: Context) -> Float[Tensor, "frames 3 height width"]:
        """The VAE's decoder, in chunks of two latent frames."""
        scaled = latents[self.padding :].to(self.placement.device, self.vae.dtype) / self.vae.config.scaling_factor
        video = self.vae.decode(scaled.transpose(0, 1)[None]).sample[0].transpose(0, 1)
        return (video.to(latents) / 2 + 0.5).clamp(0, 1)

    def add_noise(self, clean: Tensor, noise: Tensor, t: float) -> Tensor:
        """√ᾱ z + √(1-ᾱ) ε."""
        _, signal, sigma = noise_level(self.alphas_cumprod, t)
        return signal * clean + sigma * noise

    @torch.no_grad()
    def denoise(self, noisy: Tensor, t: float, conditions: list[Embedding]) -> list[Tensor]:
        """ẑ = √ᾱ z_t - √(1-ᾱ) v."""
        step, signal, sigma = noise_level(self.alphas_cumprod, t)
        # With weights on the host memory is what counts, and the copy of a block costs little beside its work.
        groups = [[condition] for condition in conditions] if self.placement.offload else [conditions]
        return [signal * noisy - sigma * v.to(noisy) for group in groups for v in self._velocity(noisy, step, group)]

    def _velocity(self, noisy: Tensor, step: int, conditions: list[Embedding]) -> Tensor:
        z = noisy.to(self.placement.device, self.placement.dtype)
        rows = [torch.cat([z, c["image"].to(z)], 1) if "image" in c else z for c in conditions]
        return self.transformer(
            hidden_states=torch.stack(rows),
            encoder_hidden_states=torch.stack([condition["text"] for condition in conditions]),
            timestep=torch.full((len(rows),), step, device=z.device),
            ofs=None if self.transformer.config.ofs_embed_dim is None else z.new_full((1,), OFS),
            image_rotary_emb=self.rotary,
            return_dict=False,
        )[0]

    def _embed(self, prompts: list[str]) -> list[Embedding]:
        """T5's last states without a mask, as CogVideoX was trained."""
        from transformers import T5EncoderModel

        tokens = self.transformer.config.max_text_seq_length
        states, _ = text_states(T5EncoderModel, self.folder, prompts, tokens=tokens, placement=self.placement)
        return [{"text": row} for row in states]

    def _encode(self, video: Tensor) -> Tensor:
        pixels = (2 * video - 1).to(self.placement.device, self.vae.dtype).transpose(0, 1)[None]
        return self.vae.encode(pixels).latent_dist.mode()[0].transpose(0, 1)

    @torch.no_grad()
    def _image(self, context: Context) -> Tensor:
        scale = self.vae.config.scaling_factor
        # 1.5 was trained on images divided by the factor, and its checkpoint says so.
        image = self._encode(context.reference[:1]) * (1 / scale if self.vae.config.invert_scale_latents else scale)
        latent_frames = (self.frames - 1) // self.time + 1 + self.padding
        return torch.cat([image, image.new_zeros(latent_frames - 1, *image.shape[1:])])


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
        latents, cache = self.encoder(sample, conv_cache=_moved(conv_cache, sample.device))
        return latents, _moved(cache, self.caches_on or sample.device)


def recomputed(function: Any, *inputs: Any) -> Any:
    """A checkpoint that also lets go of tensors inside of its inputs' dictionaries.

    torch does that only for inputs that are tensors; the caches in a dictionary would stay on the device.
    """
    leaves, structure = tree_flatten(inputs)
    return checkpoint(
        lambda *leaves: function(*tree_unflatten(leaves, structure)),
        *leaves,
        use_reentrant=False,
        preserve_rng_state=False,
    )


def checkpointed(vae: Any, placement: Placement) -> Any:
    """Chunks are recomputed one by one, and in a chunk one residual block after the other."""
    if not placement.checkpointing:
        return vae
    vae.enable_gradient_checkpointing(recomputed)
    vae.encoder.gradient_checkpointing = False  # its blocks do it already
    vae.encoder = CheckpointedEncoder(vae.encoder, caches_on=placement.host if placement.offload else None)
    return vae


def _moved(cache: Any, device: torch.device | str) -> Any:
    if isinstance(cache, dict):
        return {name: _moved(value, device) for name, value in cache.items()}
    return cache if cache is None else cache.to(device)


def rotary_embedding(
    config: Any, latent_frames: int, rows: int, columns: int, *, device: str
) -> tuple[Tensor, Tensor] | None:
    """Positions of the tokens as the pipeline makes them; 2B has sines in the patch embedding instead."""
    from diffusers.models.embeddings import get_3d_rotary_pos_embed
    from diffusers.pipelines.cogvideo.pipeline_cogvideox import get_resize_crop_region_for_grid

    if not config.use_rotary_positional_embeddings:
        return None
    base = config.sample_height // config.patch_size, config.sample_width // config.patch_size
    kind: dict[str, Any]
    if config.patch_size_t is None:
        kind = {"crops_coords": get_resize_crop_region_for_grid((rows, columns), base[1], base[0])}
    else:
        latent_frames = latent_frames // config.patch_size_t
        kind = {"crops_coords": None, "grid_type": "slice", "max_size": base}
    cosines, sines = get_3d_rotary_pos_embed(
        embed_dim=config.attention_head_dim,
        grid_size=(rows, columns),
        temporal_size=latent_frames,
        device=torch.device(device),
        **kind,
    )
    return cosines, sines
