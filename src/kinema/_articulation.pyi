"""Native kernel of `kinema.physics.rollout` (native/articulation)."""

from typing import NotRequired, TypedDict, Unpack

from torch import Tensor

class _Fields(TypedDict):
    """Constants of a model, as in `kinema.physics.model.Model`. Arrays are dense, of the model's dtype."""

    parents: Tensor
    """[J], int32"""
    offsets: Tensor
    axes: Tensor
    mass: Tensor
    com: Tensor
    inertia: Tensor
    corners: Tensor
    stiffness: Tensor
    damping: Tensor
    armature: Tensor
    lower: Tensor
    upper: Tensor
    stop_stiffness: Tensor
    stop_damping: Tensor
    gravity: Tensor
    stop_ramp: float
    most_speed: float
    contact_stiffness: float
    contact_damping: float
    contact_ramp: float
    friction: float
    slip_speed: float
    terrain: NotRequired[Tensor]
    """[rows, columns]; without it the ground is y = 0."""
    terrain_x: NotRequired[float]
    terrain_z: NotRequired[float]
    terrain_step: NotRequired[float]

class Model32:
    @staticmethod
    def make(**fields: Unpack[_Fields]) -> Model32:
        """Raises a ValueError that names a field that is missing, misshapen or unknown."""

class Model64:
    @staticmethod
    def make(**fields: Unpack[_Fields]) -> Model64: ...

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
