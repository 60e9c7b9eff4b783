"""Reading the parts of a diffusers checkpoint from a folder, and where their weights live."""

import contextlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from kinema.errors import KinemaError

Quantize = Literal["int8", "nf4"]


@dataclass(frozen=True)
class Placement:
    """Where a model's weights and activations live, and in which precision."""

    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    quantize: Quantize | None = None
    """Keep the linear layers of the denoiser's blocks in 8 or 4 bits."""
    offload: bool = False
    """Keep the denoiser's blocks, the text encoder and the VAE's caches in host memory; a block visits the device
    while it runs."""
    tiling: bool = False
    """Encode and decode overlapping tiles, as the pipelines' `enable_tiling` does: less memory, nearly the same."""
    checkpointing: bool = True
    """Recompute the VAE's activations in the backward pass instead of keeping them."""
    host: str = "cpu"
    """Where offloaded tensors wait."""

    @property
    def text_device(self) -> str:
        """The text encoder runs once; with `offload` it does so on the host."""
        return self.host if self.offload else self.device


def read_part(cls: Any, folder: Path, part: str, *, dtype: torch.dtype) -> Any:
    """One model of a checkpoint folder, frozen, from safetensors only; every parameter must be in the file."""
    where = folder / part
    read_json(where / "config.json")
    if not list(where.glob("*.safetensors")):
        raise KinemaError(f"{where}: no *.safetensors weights here")
    with _reading(where, "weights"):
        model, info = cls.from_pretrained(
            where, torch_dtype=dtype, use_safetensors=True, local_files_only=True, output_loading_info=True
        )
    if info["missing_keys"]:
        missing = sorted(info["missing_keys"])
        raise KinemaError(f"{where}: {len(missing)} weights are missing, the first is {missing[0]}")
    return model.eval().requires_grad_(False)


def read_tokenizer(folder: Path) -> Any:
    """The tokenizer of a checkpoint folder."""
    from transformers import AutoTokenizer

    with _reading(folder / "tokenizer", "tokenizer"):
        return AutoTokenizer.from_pretrained(folder / "tokenizer", local_files_only=True)


def read_scheduler(cls: Any, folder: Path) -> Any:
    """The noise schedule of a checkpoint folder."""
    read_json(folder / "scheduler" / "scheduler_config.json")
    with _reading(folder / "scheduler", "schedule"):
        return cls.from_pretrained(folder / "scheduler")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file of a checkpoint folder."""
    if not path.is_file():
        raise KinemaError(f"{path}: no such file; a diffusers checkpoint folder is needed")
    with _reading(path, "JSON"):
        return json.loads(path.read_text())


def place(model: Any, placement: Placement, *, blocks: nn.ModuleList | None = None) -> Any:
    """Move a model to its device; its blocks are quantised and stay on the host where the placement says so."""
    from kinema.prior.quantize import quantize_linears

    blocks = nn.ModuleList() if blocks is None else blocks
    if placement.quantize is not None:
        if placement.quantize not in get_args(Quantize):
            raise KinemaError(f"quantize={placement.quantize!r}: known are {', '.join(get_args(Quantize))}")
        for block in blocks:
            quantize_linears(block, placement.quantize)
    waiting = {part for block in blocks for part in block.modules()} if placement.offload else set()
    for part in model.modules():
        _move(part, placement.host if part in waiting else placement.device)
    for block in blocks if placement.offload else ():
        _visit(block, placement.device)
    return model


def _move(part: nn.Module, device: str) -> None:
    """Move a module's own tensors, frozen. Not `Module.to`, which torch refuses for tensors without data."""
    for name, parameter in part._parameters.items():
        if parameter is not None:
            part._parameters[name] = nn.Parameter(parameter.detach().to(device), requires_grad=False)
    for name, buffer in part._buffers.items():
        if buffer is not None:
            part._buffers[name] = buffer.to(device)


def _visit(block: nn.Module, device: str) -> None:
    """The block's tensors are on the device only while it runs. The host copy is kept, so nothing is copied back."""
    host = [(part, dict(part._parameters), dict(part._buffers)) for part in block.modules()]

    def enter(module: nn.Module, args: Any) -> None:
        for part, _, _ in host:
            _move(part, device)

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        for part, parameters, buffers in host:
            part._parameters.update(parameters)
            part._buffers.update(buffers)

    block.register_forward_pre_hook(enter)
    block.register_forward_hook(leave, always_call=True)


def check_video(prior: Any, video: Tensor) -> None:
    """Refuse a video of another size than the prior takes."""
    if tuple(video.shape) != (prior.frames, 3, prior.height, prior.width):
        raise KinemaError(
            f"video of shape {tuple(video.shape)}; this prior takes {prior.frames} frames of "
            f"{prior.width} x {prior.height}"
        )


def noise_level(alphas_cumprod: list[float], t: float) -> tuple[int, float, float]:
    """The training step at a share t of a discrete schedule, and its √ᾱ and √(1-ᾱ)."""
    last = len(alphas_cumprod) - 1
    step = min(max(round(t * last), 0), last)
    return step, math.sqrt(alphas_cumprod[step]), math.sqrt(1 - alphas_cumprod[step])


def shifted(t: float, shift: float) -> float:
    """The noise level of a flow at a share t of its schedule: shifted towards noise, s t / (1 + (s - 1) t)."""
    return shift * t / (1 + (shift - 1) * t)


def needs_diffusers(name: str) -> None:
    """A one-line error where the `gpu` extra is not installed."""
    missing = [package for package in ("diffusers", "transformers", "accelerate") if find_spec(package) is None]
    if missing:
        raise KinemaError(f"--prior {name} needs {' and '.join(missing)}: pip install 'kinema[gpu]'")


@contextlib.contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a broken file makes three libraries raise into one line."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        reason = text if len(text) <= 160 else text[:157] + "..."
        raise KinemaError(f"{path}: cannot read the {what} ({reason})") from None
