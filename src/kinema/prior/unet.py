"""Text-to-video U-Nets behind `VideoPrior`: epsilon prediction in an image VAE (ModelScope, Zeroscope, VideoCrafter2).

Latents are [frames, channels, height / 8, width / 8], in the dtype and on the device of the video.
"""

from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKL, DDIMScheduler, UNet3DConditionModel
from diffusers.models.embeddings import TimestepEmbedding, Timesteps
from safetensors import safe_open
from torch import Tensor, nn
from transformers import CLIPTextModel

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, place, read_alphas, read_part
from kinema.prior.latents import Latents, check_video, recompute, video_size
from kinema.prior.noise import add_diffusion_noise, noise_level, predictions
from kinema.prior.protocol import Context, Needs, Video
from kinema.prior.text_cache import Embedding, PromptEmbeddings

TOLD_FPS = 24.0
"""The frame rate that VideoCrafter2's own pipeline tells it unless asked otherwise."""


ZEROSCOPE, VIDEOCRAFTER = (24, 320, 576), (16, 320, 512)
"""Frames, height and width that two models were trained with; their configurations hold ModelScope's 256 instead."""


class UNetPrior:
    """A 3D U-Net (see `VideoPrior`)."""

    needs, read, motions = Needs(fps=8.0, reference="nothing", engines=("sds",)), None, ()
    add_noise = add_diffusion_noise

    def __init__(
        self, unet: Any, vae: Any, alphas: list[float], *, folder: Path, placement: Placement, wide: bool = False,
        **size: int | None,
    ) -> None:  # fmt: skip
        """From its parts; `wide`: it was trained with Zeroscope's pictures."""
        space = 2 ** (len(vae.config.block_out_channels) - 1)
        side, cell = unet.config.sample_size * space, space * 2 ** (len(unet.config.block_out_channels) - 1)
        told_fps = hasattr(unet, "fps_embedding")
        default = VIDEOCRAFTER if told_fps else ZEROSCOPE if wide else (16, side, side)
        self.frames, self.height, self.width = video_size("this U-Net", default, time=1, cell=cell, **size)
        self.placement, self.alphas = placement, alphas
        self.device = placement.device
        self.vae = place(vae, placement)
        blocks = nn.ModuleList([*unet.down_blocks, unet.mid_block, *unet.up_blocks])
        self.unet = place(unet, placement, blocks=blocks)
        self.texts = PromptEmbeddings(folder, placement, CLIPTextModel, tokens=None)

    @staticmethod
    def load(folder: Path, placement: Placement, *, wide: bool = False, **size: int | None) -> "UNetPrior":
        """From a checkpoint folder in diffusers' layout."""
        alphas = read_alphas(DDIMScheduler, folder, prediction="epsilon")
        # VideoCrafter2's conversion keeps its U-Net at the root; the other parts are Zeroscope's.
        part = "unet" if (folder / "unet").is_dir() or not (folder / "config.json").is_file() else "."
        unet = read_part(UNet3DConditionModel, folder, part, dtype=placement.dtype)
        add_fps_embedding(unet, folder / part)
        vae = read_part(AutoencoderKL, folder, "vae", dtype=placement.dtype)
        return UNetPrior(unet, vae, alphas, folder=folder, placement=placement, wide=wide, **size)

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


def add_fps_embedding(unet: Any, folder: Path) -> None:
    """Add VideoCrafter2's embedding of the frame rate to that of the time, where the weights have one."""
    tensors = {}
    for file in folder.glob("*.safetensors"):
        with safe_open(str(file), "pt") as opened:
            names = [name for name in opened.keys() if name.startswith("fps_embedding.")]  # noqa: SIM118
            tensors |= {name.removeprefix("fps_embedding."): opened.get_tensor(name) for name in names}
    if not tensors:
        return
    width = unet.config.block_out_channels[0]
    embedding = TimestepEmbedding(width, 4 * width, act_fn=unet.config.act_fn)
    try:
        embedding.load_state_dict(tensors)
    except RuntimeError as error:
        raise KinemaError(f"{folder}: its fps_embedding does not fit ({' '.join(str(error).split())[:120]})") from None
    unet.fps_embedding = embedding.to(unet.dtype).requires_grad_(False)
    rate = Timesteps(width, True, 0)(torch.tensor([TOLD_FPS])).to(unet.dtype)
    unet.time_embedding.register_forward_hook(lambda _, args, time: time + unet.fps_embedding(rate.to(time)))
