"""Muon: momentum whose matrices are brought to singular values near one, so that no direction lags behind."""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor

NEWTON_SCHULZ = (3.4445, -4.775, 2.0315)
"""Quintic that pulls singular values in (0, 1] towards one quickly rather than exactly (Jordan et al. 2024)."""


class Muon(torch.optim.Optimizer):
    """For matrices only. torch's own computes in bfloat16, which CPUs without such units do ten times slower."""

    def __init__(self, matrices: Iterable[Tensor], dtype: torch.dtype = torch.float32) -> None:
        """`dtype` is what the singular values are found in."""
        super().__init__(matrices, {"lr": 1e-3, "momentum": 0.95})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                trail = self.state[matrix].setdefault("momentum_buffer", torch.zeros_like(matrix))
                trail.lerp_(matrix.grad, 1 - group["momentum"])
                update = orthogonal(matrix.grad.lerp(trail, group["momentum"]).to(self.dtype))
                rows, columns = matrix.shape
                matrix.add_(update, alpha=-group["lr"] * max(1.0, rows / columns) ** 0.5)


def orthogonal(matrix: Float[Tensor, "rows columns"], *, steps: int = 5) -> Float[Tensor, "rows columns"]:
    """The nearest matrix with orthonormal rows or columns, roughly: singular values end within about 0.7 to 1.2."""
    a, b, c = NEWTON_SCHULZ
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
