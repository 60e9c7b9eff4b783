"""Priors by name: nano, and video models with their checkpoint on the hub, class and precision."""

import copy
import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import torch

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, Quantize, needs_diffusers, place, read_part
from kinema.prior.protocol import VideoPrior

Kind = Literal["cogvideox", "wan", "ltx", "ltx-i2v", "unet", "unet-wide"]

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
    "ltx-video-i2v": ("ltx-i2v", "Lightricks/LTX-Video", torch.bfloat16),
    "modelscope": ("unet", "damo-vilab/text-to-video-ms-1.7b", torch.float16),
    "zeroscope": ("unet-wide", "cerspense/zeroscope_v2_576w", torch.float16),
}
"""Name: (file of the prior, repository on the hub, the precision that it was published in)."""

PARTS = ("transformer", "transformer_2", "unet", "vae", "text_encoder", "tokenizer", "scheduler")
FILES = ("model_index.json", *(f"{part}/*" for part in PARTS))
"""What of a checkpoint in diffusers' layout is read: safetensors and JSON, never pickles."""
AT_THE_ROOT = ("config.json", "diffusion_pytorch_model*.safetensors")
"""A U-Net at a folder's root, as in VideoCrafter2's conversion; not asked of the hub, whose roots hold all sorts."""
UNREAD = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.msgpack", "*.h5", "*.fp16.safetensors")


def load_prior(
    spec: str,
    *,
    device: str = "cpu",
    dtype: torch.dtype | None = None,
    quantize: Quantize | None = None,
    offload: bool = False,
    tiling: bool = False,
    checkpointing: bool = True,
    tiny_encoder: Path | None = None,
    video_size: tuple[int, int, int] | None = None,
) -> VideoPrior:
    """Load nano or a video model through diffusers.

    Args:
        spec: "nano", a key of `MODELS`, or either with weights of one's own: NAME=PATH, a file for nano and for the
            others a folder in diffusers' layout. Without a path a video model comes from the hub's cache or the hub.
        dtype: by default the published precision on a GPU and float32 on a CPU; `Placement` explains the others.
        tiny_encoder: TAEHV-style weights (.safetensors) that encode in place of the VAE.
        video_size: frames, height and width; by default what the model was trained with.
    """
    name, _, path = spec.partition("=")
    try:
        device_type = torch.device(device).type
    except RuntimeError:
        raise KinemaError(f"--device {device}: no such device; known are cpu, cuda, cuda:1 ...") from None
    if device_type == "cuda" and not torch.cuda.is_available():
        raise KinemaError(f"--device {device}: this machine has no CUDA device; use --device cpu")
    if name == "nano":
        for_large = {"offload": offload, "tiling": tiling, "quantize": quantize, "tiny-encoder": tiny_encoder}
        if given := [flag for flag, value in for_large.items() if value]:
            raise KinemaError(f"--{given[0]}: nano needs none of it; for models such as cogvideox-5b")
        from kinema.prior.nano.prior import NanoPrior

        return NanoPrior.load(Path(path) if path else None)
    if name not in MODELS:
        close = get_close_matches(name, ("nano", *MODELS), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise KinemaError(f"--prior {name}: unknown; known are nano, {', '.join(MODELS)}{hint}")
    needs_diffusers(name)
    kind, repository, published = MODELS[name]
    dtype = dtype or (torch.float32 if device_type == "cpu" else published)
    placement = Placement(device, dtype, quantize, offload, tiling, checkpointing)
    if device_type == "cuda":
        _check_card(name, placement, device, video_size, tiny=tiny_encoder is not None)
    folder = Path(path) if path else from_hub(name, repository)
    if not folder.is_dir():
        raise KinemaError(f"{folder}: no such folder; --prior {name} needs a checkpoint in diffusers' layout")
    prior = _load(kind, folder, placement, dict(zip(("frames", "height", "width"), video_size or ())))
    if tiny_encoder is not None:
        from kinema.prior.tiny_encoder import TinyEncode, TinyEncoder

        prior.encode = TinyEncode(prior, TinyEncoder.load(tiny_encoder, device=device, dtype=dtype))
    return prior


def load_student(spec: str, prior: Any, folder: Path) -> VideoPrior:
    """A model distilled from a loaded one to sample in few steps: the same but for its denoiser's weights.

    Args:
        spec: the loaded model's name, as `load_prior` was given it.
        folder: has the student's `transformer` in diffusers' layout; a LoRA is fused into one first.
    """
    if "fit" not in prior.needs.engines or not hasattr(prior, "transformer"):
        raise KinemaError(f"--student {folder}: {spec} samples no videos to fit; image-to-video models do")
    if not folder.is_dir():
        raise KinemaError(f"{folder}: no such folder; --student needs a transformer in diffusers' layout")
    student, placement = copy.copy(prior), prior.placement
    transformer = read_part(type(prior.transformer), folder, "transformer", dtype=placement.dtype)
    taught, taken = prior.transformer.config.in_channels, transformer.config.in_channels
    if taught != taken:
        raise KinemaError(f"{folder}: takes latents of {taken} channels, those of {spec} have {taught}")
    student.transformer = place(transformer, placement, blocks=transformer.transformer_blocks)
    return student


def _check_card(
    name: str, placement: Placement, device: str, video_size: tuple[int, int, int] | None, *, tiny: bool
) -> None:
    """Refuse what does not fit the card, which is cheaper to find without weights than after loading them."""
    from kinema.prior.gpu import refuse_if_too_large

    total = torch.cuda.get_device_properties(device).total_memory / 2**30
    refuse_if_too_large(name, total, placement, video_size, tiny=tiny)


def weights_files(spec: str) -> list[Path]:
    """Files whose content decides what a prior (`load_prior`) says; none for a video model that is not on this disk."""
    name, _, path = spec.partition("=")
    if name == "nano":
        from kinema.prior.nano.prior import WEIGHTS

        return [file for file in (Path(path) if path else WEIGHTS,) if file.is_file()]
    folder = Path(path) if path else _cached(name)
    files = [file for pattern in (*FILES, *AT_THE_ROOT) for file in folder.glob(pattern)] if folder is not None else []
    return sorted(file for file in files if file.is_file() and not any(map(file.match, UNREAD)))


def _load(kind: Kind, folder: Path, placement: Placement, size: dict[str, int]) -> VideoPrior:
    if kind == "cogvideox":
        from kinema.prior.cogvideox import CogVideoXPrior as Prior
    elif kind == "wan":
        from kinema.prior.wan import WanPrior as Prior
    elif kind in ("ltx", "ltx-i2v"):
        from kinema.prior.ltx import LTXPrior

        return LTXPrior.load(folder, placement, from_image=kind == "ltx-i2v", **size)
    else:
        from kinema.prior.unet import UNetPrior

        return UNetPrior.load(folder, placement, wide=kind == "unet-wide", **size)
    return Prior.load(folder, placement, **size)


def from_hub(name: str, repository: str, *, option: str = "--prior") -> Path:
    """The checkpoint in the hub's cache, downloaded if it is not there; `option` is the one that names it."""
    from huggingface_hub import snapshot_download

    wanted = {"allow_patterns": list(FILES), "ignore_patterns": list(UNREAD)}
    offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
    try:
        return Path(snapshot_download(repository, **wanted, local_files_only=offline))
    except Exception as error:  # the hub's client raises many kinds: no network, no such name, no right, no space
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise KinemaError(
            f"{option} {name}: no weights of {repository} ({reason[:120]}); give a folder with {option} {name}=FOLDER"
        ) from None


def _cached(name: str) -> Path | None:
    """A video model's snapshot in the hub's cache."""
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(MODELS[name][1], local_files_only=True))
    except Exception:  # not there, or the extra is not installed: loading it will say so
        return None
