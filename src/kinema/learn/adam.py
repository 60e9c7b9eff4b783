"""Adam (Kingma and Ba 2015), with the numbers of torch's own.

The first of torch's optimisers in a process imports torch's compiler, which takes two seconds: a tenth of a whole job.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class Adam:
    """For jobs of a few hundred steps; groups and state are those of `torch.optim.Adam`."""

    def __init__(
        self, parameters: Iterable[Tensor] | Iterable[dict[str, Any]], lr: float = 1e-3, *,
        betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
    ) -> None:  # fmt: skip
        """`parameters` are tensors, or groups of them with a rate each: {"params": [...], "lr": ...}."""
        self.betas, self.epsilon = betas, epsilon
        given = list(parameters)
        groups: list[Any] = given if given and isinstance(given[0], dict) else [{"params": given}]
        self.param_groups: list[dict[str, Any]] = [{"lr": lr} | group for group in groups]
        self.state: dict[int, dict[str, Tensor]] = {}
        """Step and moments, by the number of the parameter."""

    @property
    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def zero_grad(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        rates = [group["lr"] for group in self.param_groups for _ in group["params"]]
        for number, (parameter, rate) in enumerate(zip(self._parameters, rates)):
            if parameter.grad is None:
                continue
            zeros = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
            state = self.state.setdefault(number, {"step": torch.tensor(0.0), **zeros})
            state["step"] += 1
            mean, square, count = state["exp_avg"], state["exp_avg_sq"], state["step"].item()
            first, second = self.betas
            mean.lerp_(parameter.grad, 1 - first)
            square.mul_(second).addcmul_(parameter.grad, parameter.grad, value=1 - second)
            spread = (square.sqrt() / (1 - second**count) ** 0.5).add_(self.epsilon)
            parameter.addcdiv_(mean, spread, value=-rate / (1 - first**count))

    def state_dict(self) -> dict[str, Any]:
        return {"state": {number: dict(state) for number, state in self.state.items()}}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        parameters = self._parameters
        self.state = {
            number: {name: value.clone() if name == "step" else value.to(parameters[number], copy=True)
                     for name, value in state.items()}
            for number, state in saved["state"].items()
        }  # fmt: skip
