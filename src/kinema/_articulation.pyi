"""Native kernel of `kinema.physics.rollout` (native/articulation)."""

from torch import Tensor

class Model32:
    @staticmethod
    def make(parents: Tensor, arrays: list[Tensor], scalars: list[float]) -> Model32: ...

class Model64:
    @staticmethod
    def make(parents: Tensor, arrays: list[Tensor], scalars: list[float]) -> Model64: ...

def forward(
    model: Model32 | Model64,
    dt: float,
    implicit: bool,
    q0: Tensor,
    v0: Tensor,
    targets: Tensor,
    q: Tensor,
    v: Tensor,
    a: Tensor,
    failed: Tensor,
    threads: int,
) -> None: ...
def backward(
    model: Model32 | Model64,
    dt: float,
    implicit: bool,
    targets: Tensor,
    q: Tensor,
    v: Tensor,
    a: Tensor,
    grad_q: Tensor,
    grad_v: Tensor,
    grad_q0: Tensor,
    grad_v0: Tensor,
    grad_targets: Tensor,
    save_every: int,
    clip_every: int,
    clip: float,
    threads: int,
) -> None: ...
