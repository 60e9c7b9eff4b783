"""Videos and latents of the video models: sizes, the way through a VAE, and recomputation for its gradient."""

import functools
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils._pytree import tree_map_only
from torch.utils.checkpoint import checkpoint

from kinema.errors import KinemaError
from kinema.prior.protocol import Video

Latents = Float[Tensor, "latent_frames channels latent_height latent_width"]

recompute = functools.partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
"""Call a function now and again in the backward pass, instead of keeping its activations."""


def video_size(
    model: str, default: tuple[int, int, int], *, time: int, cell: int, **size: int | None
) -> tuple[int, int, int]:
    """Frames, height and width as given, else by default; an error where the model's patches do not fill them.

    Args:
        time: frames that the VAE joins to one; 1: the number of frames is free.
        cell: pixels along a side of a token.
    """
    given = (size.get(name) for name in ("frames", "height", "width"))
    frames, height, width = (usual if value is None else value for value, usual in zip(given, default))
    if min(frames, height, width) < 1 or frames % time != 1 % time or height % cell or width % cell:
        count = f"{time}k + 1 frames" if time > 1 else "a frame or more"
        needs = f"{count} and sides divisible by {cell}"
        raise KinemaError(f"--video-size {frames} {height} {width}: {model} needs {needs}")
    return frames, height, width


def check_video(prior: Any, video: Tensor) -> None:
    """Refuse a video of another size than the prior takes."""
    wanted = (prior.frames, 3, prior.height, prior.width)
    if tuple(video.shape) != wanted:
        raise KinemaError(f"video of shape {tuple(video.shape)}; this prior takes {wanted}")


def encode_mean(prior: Any, video: Video) -> Latents:
    """Mean of a video VAE's posterior on the VAE's own scale, in its precision."""
    pixels = (2 * video - 1).to(prior.placement.device, prior.vae.dtype).transpose(0, 1)[None]
    return prior.vae.encode(pixels).latent_dist.mode()[0].transpose(0, 1)


def decode_raw(prior: Any, raw: Latents, *options: Any, like: Tensor) -> Video:
    """Video of latents on the VAE's own scale, in the dtype and on the device of `like`."""
    raw = raw.to(prior.placement.device, prior.vae.dtype).transpose(0, 1)[None]
    video = prior.vae.decode(raw, *options).sample[0].transpose(0, 1)
    return (video.to(like) / 2 + 0.5).clamp(0, 1)


def moved(caches: Any, device: torch.device | str) -> Any:
    """A list or dictionary of caches with its tensors on a device."""
    return tree_map_only(Tensor, lambda cache: cache.to(device), caches)
