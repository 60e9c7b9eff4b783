"""State of a training and one step of it: two optimisers, a moving average of the weights, tensors for a checkpoint."""

from typing import Any

import torch
from torch import Tensor, nn

from kinema.learn.muon import Muon
from kinema.tensor_files import optimizer_tensors, restore_optimizer

OTHERS = 0.67
"""Learning rate of all that Muon does not take, relative to Muon's."""
WARM_UP = 100
"""Steps over which the learning rate rises."""
Optimizers = list[torch.optim.Optimizer]


def make_optimizers(model: nn.Module, precision: torch.dtype = torch.float32) -> Optimizers:
    """Muon, computed in `precision`, for the inner matrices of the blocks, AdamW for everything else."""
    matrices, rest = [], []
    for name, value in model.named_parameters():
        inner = name.startswith("blocks.") and value.ndim == 2 and "modulation" not in name
        (matrices if inner else rest).append(value)
    return [Muon(matrices, dtype=precision), torch.optim.AdamW(rest, lr=1e-3, betas=(0.9, 0.98), weight_decay=0.0)]


def first_average(model: nn.Module) -> dict[str, Tensor]:
    """A copy of the weights, to be averaged over the steps."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def descend(
    model: nn.Module, optimizers: Optimizers, average: dict[str, Tensor], *, step: int, progress: float, rate: float,
    decay: float, others: float = OTHERS,
) -> None:  # fmt: skip
    """Step along the gradients that the parameters hold, and move the average on.

    Args:
        step: number of this step.
        progress: share of the training that has passed; the learning rate falls to zero over its last two fifths.
        others: learning rate of all that Muon does not take, relative to `rate`.
        decay: of the average, in the end; early ones forget fast, so that the first minutes do not linger.
    """
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    rate = rate * min(1.0, (step + 1) / WARM_UP) * min(1.0, 2.5 * (1 - progress) + 0.01)
    for optimizer, factor in zip(optimizers, (1.0, others)):
        for group in optimizer.param_groups:
            group["lr"] = rate * factor
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    decay = min(decay, (1 + step) / (10 + step))
    for name, value in model.state_dict().items():
        average[name].lerp_(value, 1 - decay)


def training_tensors(model: nn.Module, average: dict[str, Tensor], optimizers: Optimizers) -> dict[str, Tensor]:
    """Everything that `restore_training` needs, by name."""
    tensors = {f"model.{k}": v for k, v in model.state_dict().items()}
    tensors |= {f"average.{k}": v for k, v in average.items()}
    for number, optimizer in enumerate(optimizers):
        tensors |= optimizer_tensors(optimizer, f"optimizer.{number}.")
    return tensors


def model_tensors(tensors: dict[str, Tensor], which: str = "model") -> dict[str, Any]:
    """The weights, or their average, among the tensors of a checkpoint."""
    return {k.removeprefix(f"{which}."): v for k, v in tensors.items() if k.startswith(f"{which}.")}


def restore_optimizers(optimizers: Optimizers, tensors: dict[str, Tensor]) -> None:
    """Put the optimisers' state back."""
    for number, optimizer in enumerate(optimizers):
        restore_optimizer(optimizer, tensors, f"optimizer.{number}.")
