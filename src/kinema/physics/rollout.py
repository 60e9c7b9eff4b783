"""A rollout of the simulation as one differentiable function, computed by the native kernel."""

import os
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from kinema.errors import KinemaError
from kinema.physics.model import Control, Model, State


def rollout(
    model: Model,
    state: State,
    control: Control,
    *,
    dt: float,
    steps: int,
    save_every: int = 1,
    implicit: bool = True,
    clip: float | None = None,
    clip_every: int = 25,
    threads: int | None = None,
) -> tuple[Float[Tensor, "batch saves dofs"], Float[Tensor, "batch saves dofs"]]:
    """Simulate from `state` under `control`; positions and velocities at the start and after every `save_every` steps.

    Gradients flow to the initial state and to the control's targets. `rollout_twin` is the specification.

    Args:
        dt: Length of a step [s].
        implicit: Take PD control, stops and contact at the end of the step (stable at any dt); False: all at its start,
            which is the paper's integrator and wants hundreds of steps per frame.
        clip: Greatest norm of the adjoints of position, of velocity and of the controls, enforced every `clip_every`
            steps on the way back; None leaves the gradient exact.
        threads: For rollouts of a batch; None takes the number of cores.
    """
    check(model, state, control, dt=dt, steps=steps, save_every=save_every)
    options = (dt, implicit, save_every, clip or 0.0, clip_every, threads or os.cpu_count() or 1, steps)
    q, v = _Rollout.apply(model, options, state.q, state.v, control.targets)  # type: ignore[misc]
    return q, v


def check(model: Model, state: State, control: Control, *, dt: float, steps: int, save_every: int) -> None:
    """Raise unless the inputs fit each other and are finite."""
    batch = state.q.shape[0]
    knots = control.targets.shape[1]
    if state.v.shape != (batch, model.dofs) or state.q.shape[1] != model.dofs:
        raise KinemaError(f"physics: state {tuple(state.q.shape)} does not fit the model's {model.dofs} coordinates")
    if control.targets.shape[0] != batch or control.targets.shape[2] != model.dofs or not 1 <= knots <= max(steps, 1):
        raise KinemaError(f"physics: control {tuple(control.targets.shape)} does not fit {batch} x {steps} steps")
    if steps < 1 or save_every < 1 or steps % save_every or not 0 < dt < float("inf"):
        raise KinemaError(f"physics: cannot save every {save_every} of {steps} steps of {dt} s")
    for name, value in (("pose", state.q), ("velocity", state.v), ("control", control.targets)):
        if not bool(torch.isfinite(value.detach()).all()):
            raise KinemaError(f"physics: the initial {name} holds values that are not finite")


class _Rollout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, model, options, q0, v0, targets):  # pyright: ignore[reportIncompatibleMethodOverride]
        from kinema import _articulation

        dt, implicit, save_every, _, _, threads, steps = options
        native = _native(model, q0.dtype)
        batch, dofs = q0.shape
        q, v = q0.new_empty(batch, steps + 1, dofs), q0.new_empty(batch, steps + 1, dofs)
        a, failed = q0.new_empty(batch, steps, dofs), torch.empty(batch, dtype=torch.int64)
        q0, v0, targets = (x.detach().contiguous() for x in (q0, v0, targets))
        _articulation.forward(native, dt, implicit, q0, v0, targets, q, v, a, failed, threads)
        if bool((failed >= 0).any()):
            step = int(failed[failed >= 0].min())
            raise KinemaError(f"physics: the simulation diverged at step {step} of {steps} (dt {dt:g} s); use less dt")
        ctx.native, ctx.options = native, options
        ctx.save_for_backward(targets, q, v, a)
        return q[:, ::save_every].clone(), v[:, ::save_every].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_q, grad_v):  # pyright: ignore[reportIncompatibleMethodOverride]
        from kinema import _articulation

        targets, q, v, a = ctx.saved_tensors
        dt, implicit, save_every, clip, clip_every, threads, _ = ctx.options
        grad_q0, grad_v0, grad_targets = torch.empty_like(q[:, 0]), torch.empty_like(q[:, 0]), torch.zeros_like(targets)
        grads = (grad_q.contiguous(), grad_v.contiguous(), grad_q0, grad_v0, grad_targets)
        _articulation.backward(
            ctx.native, dt, implicit, targets, q, v, a, *grads, save_every, clip_every, clip, threads
        )
        return None, None, grad_q0, grad_v0, grad_targets


def _native(model: Model, dtype: torch.dtype):
    """Copy the constants into the kernel's own memory, each field by its name."""
    from kinema import _articulation

    kinds = {torch.float64: _articulation.Model64, torch.float32: _articulation.Model32}
    if dtype not in kinds:
        raise KinemaError(f"physics: rollouts are float32 or float64, not {dtype}")
    fields: dict[str, Any] = {name: x for name, x in vars(model).items() if isinstance(x, Tensor)}
    fields["gravity"] = torch.tensor(model.gravity, dtype=torch.float64)
    ground = model.contact
    if ground.field is not None:
        fields["terrain"] = ground.field.heights
    fields = {name: x.detach().to(dtype).contiguous() for name, x in fields.items()}
    if ground.field is not None:
        (x, z), step = ground.field.origin, ground.field.spacing
        fields |= {"terrain_x": x, "terrain_z": z, "terrain_step": step}
    try:
        return kinds[dtype].make(
            parents=torch.tensor(model.parents, dtype=torch.int32),
            stop_ramp=model.stop_ramp,
            most_speed=model.most_speed,
            contact_stiffness=ground.stiffness,
            contact_damping=ground.damping,
            contact_ramp=ground.ramp,
            friction=ground.friction,
            slip_speed=ground.slip_speed,
            **fields,
        )
    except ValueError as error:
        raise KinemaError(f"physics: {error}") from None
