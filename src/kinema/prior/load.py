"""Video models by name: which checkpoint of the hub, which class, which precision."""

import os
from pathlib import Path
from typing import Literal

import torch

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, Quantize, needs_diffusers
from kinema.prior.protocol import VideoPrior

Kind = Literal["cogvideox", "wan", "ltx", "unet"]

MODELS: dict[str, tuple[Kind, str, torch.dtype]] = {
    "cogvideox-2b": ("cogvideox", "zai-org/CogVideoX-2b", torch.float16),
    "cogvideox-5b": ("cogvideox", "zai-org/CogVideoX-5b", torch.bfloat16),
    "cogvideox-5b-i2v": ("cogvideox", "zai-org/CogVideoX-5b-I2V", torch.bfloat16),
    "cogvideox-1.5-5b": ("cogvideox", "zai-org/CogVideoX1.5-5B", torch.bfloat16),
    "cogvideox-1.5-5b-i2v": ("cogvideox", "zai-org/CogVideoX1.5-5B-I2V", torch.bfloat16),
    "wan2.1-1.3b": ("wan", "Wan-AI/Wan2.1-T2V-1.3B-Diffusers", torch.bfloat16),
    "wan2.1-14b": ("wan", "Wan-AI/Wan2.1-T2V-14B-Diffusers", torch.bfloat16),
    "wan2.2-5b": ("wan", "Wan-AI/Wan2.2-TI2V-5B-Diffusers", torch.bfloat16),
    "wan2.2-a14b": ("wan", "Wan-AI/Wan2.2-T2V-A14B-Diffusers", torch.bfloat16),
    "ltx-video": ("ltx", "Lightricks/LTX-Video", torch.bfloat16),
    "modelscope": ("unet", "damo-vilab/text-to-video-ms-1.7b", torch.float16),
    "zeroscope": ("unet", "cerspense/zeroscope_v2_576w", torch.float16),
}
"""Name: (file of the prior, repository on the hub, the precision that it was published in)."""

PARTS = ("transformer", "transformer_2", "unet", "vae", "text_encoder", "tokenizer", "scheduler")


def load_video_model(
    name: str,
    folder: str | Path | None = None,
    *,
    device: str = "cpu",
    dtype: torch.dtype | None = None,
    quantize: Quantize | None = None,
    offload: bool = False,
    tiling: bool = False,
    checkpointing: bool = True,
    frames: int | None = None,
    height: int | None = None,
    width: int | None = None,
    tiny_encoder: str | Path | None = None,
) -> VideoPrior:
    """A video model through diffusers.

    Args:
        name: a key of `MODELS`.
        folder: a checkpoint in diffusers' layout; without it the hub's cache, then the hub.
        device: where it runs.
        dtype: precision; by default the published one on a GPU and float32 on a CPU.
        quantize: keep the denoiser's linear layers in 8 or 4 bits.
        offload: keep weights on the host and let them visit the device block by block.
        tiling: run the VAE in overlapping tiles.
        checkpointing: recompute the VAE's activations in the backward pass; without it, faster and much larger.
        frames: frames per video; by default what the model was trained with, as for height and width.
        height: rows of a frame.
        width: columns of a frame.
        tiny_encoder: TAEHV-style weights (.safetensors) that encode in place of the VAE.
    """
    if name not in MODELS:
        raise KinemaError(f"--prior {name}: unknown; known are nano, {', '.join(MODELS)}")
    needs_diffusers(name)
    kind, repository, published = MODELS[name]
    if dtype is None:
        dtype = torch.float32 if torch.device(device).type == "cpu" else published
    placement = Placement(
        device=device, dtype=dtype, quantize=quantize, offload=offload, tiling=tiling, checkpointing=checkpointing
    )
    size = {"frames": frames, "height": height, "width": width}
    where = Path(folder) if folder is not None else _from_hub(name, repository)
    if not where.is_dir():
        raise KinemaError(f"{where}: no such folder; --prior {name} needs a checkpoint in diffusers' layout")
    prior = _load(kind, where, placement, size)
    if tiny_encoder is None:
        return prior
    from kinema.prior.tiny_encoder import with_tiny_encoder

    return with_tiny_encoder(prior, Path(tiny_encoder), device=device, dtype=dtype)


def _load(kind: Kind, where: Path, placement: Placement, size: dict[str, int | None]) -> VideoPrior:
    if kind == "cogvideox":
        from kinema.prior.cogvideox import CogVideoXPrior

        return CogVideoXPrior.load(where, placement, **size)
    if kind == "wan":
        from kinema.prior.wan import WanPrior

        return WanPrior.load(where, placement, **size)
    if kind == "ltx":
        from kinema.prior.ltx import LTXPrior

        return LTXPrior.load(where, placement, **size)
    from kinema.prior.unet import UNetPrior

    return UNetPrior.load(where, placement, **size)


def _from_hub(name: str, repository: str) -> Path:
    """The checkpoint in the hub's cache, downloaded where it is not there: safetensors and JSON, never pickles."""
    from huggingface_hub import snapshot_download

    patterns = ["model_index.json", *(f"{part}/*" for part in PARTS)]
    unwanted = ["*.bin", "*.pt", "*.pth", "*.ckpt", "*.msgpack", "*.h5", "*.fp16.safetensors"]
    offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
    try:
        return Path(
            snapshot_download(repository, allow_patterns=patterns, ignore_patterns=unwanted, local_files_only=offline)
        )
    except Exception as error:  # the hub's client raises many kinds: no network, no such name, no right, no space
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise KinemaError(
            f"--prior {name}: no weights of {repository} ({reason[:120]}); give a folder with --prior {name}=FOLDER"
        ) from None
