"""Checkpoints as safetensors files: named tensors, a JSON header, and an optimiser's state, all without pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinema.files import replacing

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer


def save_tensors(path: Path, tensors: dict[str, Tensor], *, header: dict[str, Any], key: str) -> None:
    """Write tensors and a header to one file, which appears whole or not at all; `key` names the kind of file."""
    from safetensors.torch import save

    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as partial:
        partial.write_bytes(save(contiguous, metadata={key: json.dumps(header)}))


def load_tensors(path: Path, *, key: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote; a ValueError says why it cannot be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), "pt") as file:
            metadata = file.metadata() or {}
            if key not in metadata:
                raise ValueError(f"its header has no entry {key!r}")
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(metadata[key])  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ValueError(" ".join(str(error).split())) from None


def optimizer_tensors(optimizer: Optimizer, prefix: str = "optimizer.") -> dict[str, Tensor]:
    """An optimiser's state by name: prefix, index of the parameter, name of the moment."""
    states = optimizer.state_dict()["state"]
    return {f"{prefix}{index}.{name}": value for index, state in states.items() for name, value in state.items()}


def restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor], prefix: str = "optimizer.") -> None:
    """Put the state back that `optimizer_tensors` gave; tensors of other names are left out."""
    full = optimizer.state_dict()
    for key, value in tensors.items():
        if key.startswith(prefix):
            index, name = key.removeprefix(prefix).split(".", 1)
            full["state"].setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(full)
