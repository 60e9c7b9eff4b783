"""Checkpoints as safetensors files: named tensors, a JSON header, and an optimiser's state, all without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kinema.files import replacing

if TYPE_CHECKING:
    from torch import Tensor


@runtime_checkable
class Optimizer(Protocol):
    """torch's optimisers and ours."""

    param_groups: list[dict[str, Any]]

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any], /) -> None: ...


def save_tensors(path: Path, tensors: dict[str, Tensor], *, header: dict[str, Any], key: str) -> None:
    """Write tensors and a header to one file, which appears whole or not at all; `key` names the kind of file."""
    from safetensors.torch import save

    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as partial:
        partial.write_bytes(save(contiguous, metadata={key: json.dumps(header)}))


def load_tensors(
    path: Path, *, key: str, shapes: Mapping[str, Sequence[int]] | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote; a ValueError says why it cannot be read, or that a tensor of `shapes` is none.

    safetensors itself refuses a header whose tensors are not exactly the bytes of the file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), "pt") as file:
            metadata = file.metadata() or {}
            if key not in metadata:
                raise ValueError(f"its header has no entry {key!r}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            header = json.loads(metadata[key])
    except (SafetensorError, OSError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from None
    if not isinstance(header, dict):
        raise ValueError(f"its header {key!r} is no object")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.float().isfinite().all()):
            raise ValueError(f"{name} holds values that are not finite")
    for name, shape in (shapes or {}).items():
        if name not in tensors or tensors[name].shape != tuple(shape):
            found = f"the shape {tuple(tensors[name].shape)}" if name in tensors else "none"
            raise ValueError(f"{name} should have the shape {tuple(shape)} and has {found}")
    return tensors, header


def optimizer_tensors(optimizer: Optimizer, prefix: str = "optimizer.") -> dict[str, Tensor]:
    """An optimiser's state by name: prefix, index of the parameter, name of the moment."""
    states = optimizer.state_dict()["state"]
    return {f"{prefix}{index}.{name}": value for index, state in states.items() for name, value in state.items()}


def restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor], prefix: str = "optimizer.") -> None:
    """Put the state back that `optimizer_tensors` gave; tensors of other names are left out.

    A ValueError says which tensor belongs to none of the optimiser's parameters, or has another shape than it.
    """
    full = optimizer.state_dict()
    parameters = [x for group in optimizer.param_groups for x in group["params"]]
    for key, value in tensors.items():
        if key.startswith(prefix):
            index, _, name = key.removeprefix(prefix).partition(".")
            known = index.isdecimal() and int(index) < len(parameters)
            if not known or value.shape not in ((), parameters[int(index)].shape):
                raise ValueError(f"{key} of shape {tuple(value.shape)} fits no parameter")
            full["state"].setdefault(int(index), {})[name] = value
    for index, state in full["state"].items():
        if state.keys() != next(iter(full["state"].values())).keys():
            raise ValueError(f"{prefix}{index} lacks some of its moments")
    optimizer.load_state_dict(full)
