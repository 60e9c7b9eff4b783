"""Reading the parts of a diffusers checkpoint from a folder, and where their weights live."""

import contextlib
import functools
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import nn

from kinema.errors import KinemaError
from kinema.prior.quantize import quantize_linears

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
        pickles = next((path.name for pattern in ("*.bin", "*.pt") for path in where.glob(pattern)), None)
        way = "" if pickles is None else (
            f" but {pickles}, a pickle, which Kinema does not read; where you trust it, load the pipeline with"
            " diffusers, write it by save_pretrained(FOLDER), and give --prior NAME=FOLDER"
        )  # fmt: skip
        raise KinemaError(f"{where}: no *.safetensors weights here{way}")
    with _reading(where, "weights"), _quiet():
        model, info = cls.from_pretrained(
            where, torch_dtype=dtype, use_safetensors=True, local_files_only=True, output_loading_info=True
        )
    if info["missing_keys"]:
        missing = sorted(info["missing_keys"])
        raise KinemaError(f"{where}: {len(missing)} weights are missing, the first is {missing[0]}")
    return model.eval().requires_grad_(False)


def read_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    with _reading(folder / "tokenizer", "tokenizer"):
        return AutoTokenizer.from_pretrained(folder / "tokenizer", local_files_only=True)


def read_alphas(cls: Any, folder: Path, *, prediction: str) -> list[float]:
    """ᾱ of every training step, by a sampler's class.

    A checkpoint may name another sampler; all carry the same noise schedule, which is all that is used of them.
    """
    read_json(folder / "scheduler" / "scheduler_config.json")
    with _reading(folder / "scheduler", "schedule"):
        scheduler = cls.from_pretrained(folder / "scheduler")
    if scheduler.config.prediction_type != prediction:
        raise KinemaError(f"{folder}: prediction_type {scheduler.config.prediction_type}, known here is {prediction}")
    return scheduler.alphas_cumprod.tolist()


def read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise KinemaError(f"{path}: no such file; a diffusers checkpoint folder is needed")
    with _reading(path, "JSON"):
        return json.loads(path.read_text())


def place(model: Any, placement: Placement, *, blocks: nn.ModuleList | None = None) -> Any:
    """Move a model to its device; its blocks are quantised and stay on the host where the placement says so.

    A model without blocks is a VAE, which is tiled instead.
    """
    if blocks is None:
        blocks = nn.ModuleList()
        if placement.tiling:
            model.enable_tiling()
    if placement.quantize is not None:
        if placement.quantize not in get_args(Quantize):
            raise KinemaError(f"quantize={placement.quantize!r}: known are {', '.join(get_args(Quantize))}")
        for block in blocks:
            quantize_linears(block, placement.quantize)
    waiting = {part for block in blocks for part in block.modules()} if placement.offload else set()
    for part in model.modules():
        _move(part, placement.host if part in waiting else placement.device)
    if placement.offload:
        _Visits(list(blocks), placement.device)
    return model


def _move(part: nn.Module, device: str) -> None:
    """Move a module's own tensors, frozen. Not `Module.to`, which torch refuses for tensors without data."""
    for name, parameter in part._parameters.items():
        if parameter is not None:
            part._parameters[name] = nn.Parameter(parameter.detach().to(device), requires_grad=False)
    for name, buffer in part._buffers.items():
        if buffer is not None:
            part._buffers[name] = buffer.to(device)


class _Visits:
    """Blocks whose tensors wait on the host and are on the device only while they run, or while the one before does.

    The host's copies are kept, so nothing is copied back. For a GPU they are pinned and copied on a stream of their
    own, so that the next block is on its way while one computes.
    """

    def __init__(self, blocks: list[nn.Module], device: str) -> None:
        self.device, cuda = device, torch.device(device).type == "cuda"
        self.stream = torch.cuda.Stream(device) if cuda else None
        self.parts = [list(block.modules()) for block in blocks]
        if cuda:
            for part in (part for parts in self.parts for part in parts):
                part._parameters.update({n: _pinned(p) for n, p in part._parameters.items() if p is not None})
                part._buffers.update({n: b.pin_memory() for n, b in part._buffers.items() if b is not None})
        self.host = [[(dict(part._parameters), dict(part._buffers)) for part in parts] for parts in self.parts]
        self.fetched: dict[int, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
        for k, block in enumerate(blocks):
            block.register_forward_pre_hook(functools.partial(self._enter, k))
            block.register_forward_hook(functools.partial(self._leave, k), always_call=True)

    def _fetch(self, k: int) -> None:
        """Begin to copy block k."""

        def copy(x: Any) -> Any:
            if x is None:
                return None
            moved = x.detach().to(self.device, non_blocking=True)
            return nn.Parameter(moved, requires_grad=False) if isinstance(x, nn.Parameter) else moved

        with contextlib.nullcontext() if self.stream is None else torch.cuda.stream(self.stream):
            groups = [tuple({name: copy(x) for name, x in group.items()} for group in part) for part in self.host[k]]
        self.fetched[k] = groups  # pyright: ignore[reportArgumentType]

    def _enter(self, k: int, module: nn.Module, args: Any) -> None:
        if k not in self.fetched:
            self._fetch(k)
        if self.stream is not None:
            now = torch.cuda.current_stream(self.device)
            now.wait_stream(self.stream)
            for tensor in (x for part in self.fetched[k] for group in part for x in group.values() if x is not None):
                tensor.record_stream(now)
        for part, (parameters, buffers) in zip(self.parts[k], self.fetched[k]):
            part._parameters.update(parameters)
            part._buffers.update(buffers)
        if k + 1 < len(self.parts):
            self._fetch(k + 1)

    def _leave(self, k: int, module: nn.Module, args: Any, output: Any) -> None:
        del self.fetched[k]
        for part, (parameters, buffers) in zip(self.parts[k], self.host[k]):
            part._parameters.update(parameters)
            part._buffers.update(buffers)


def _pinned(parameter: nn.Parameter) -> nn.Parameter:
    return nn.Parameter(parameter.detach().pin_memory(), requires_grad=False)


def needs_diffusers(name: str) -> None:
    """A one-line error where the `gpu` extra is not installed."""
    missing = [package for package in ("diffusers", "transformers", "accelerate") if find_spec(package) is None]
    if missing:
        raise KinemaError(f"--prior {name} needs {' and '.join(missing)}: pip install 'kinema[gpu]'")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the lines that the libraries log about missing weights, which is an error of one line here."""
    loggers = [logging.getLogger(name) for name in ("diffusers", "transformers")]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        yield
    finally:
        for logger, level in zip(loggers, before):
            logger.setLevel(level)


@contextlib.contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a broken file makes three libraries raise into one line."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        reason = text if len(text) <= 160 else text[:157] + "..."
        raise KinemaError(f"{path}: cannot read the {what} ({reason})") from None
