"""A rollout of the simulation as one differentiable function, computed by the native kernel."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from kinema.errors import KinemaError
from kinema.physics.model import Control, Model, State

Saved = Float[Tensor, "batch saves dofs"]


class Diverged(KinemaError):
    """A simulation that left all bounds."""


def rollout(
    model: Model, state: State, control: Control, *, dt: float, steps: int, save_every: int = 1, implicit: bool = True,
    clip: float | None = None, clip_every: int = 25, threads: int | None = None,
) -> tuple[Saved, Saved]:  # fmt: skip
    """Simulate from `state` under `control`: positions and velocities at the start and after every `save_every` steps.

    Gradients flow to the initial state and to the control's targets. `rollout_twin` is the specification.

    Args:
        implicit: Take PD control, stops and contact at the end of the step, which is stable at any dt. False: at its
            start, which is the paper's integrator and needs hundreds of steps per frame.
        clip: Greatest norm of the adjoints of position, of velocity and of the controls, enforced every `clip_every`
            steps on the way back; None leaves the gradient exact.
        threads: For rollouts of a batch; None takes as many as torch, so that a job of many stays within its share.
    """
    check(model, state, control, dt=dt, steps=steps, save_every=save_every)
    step = {"dt": dt, "implicit": implicit, "threads": threads or torch.get_num_threads()}
    adjoint = {"save_every": save_every, "clip": clip or 0.0, "clip_every": clip_every}
    native = _native(model, state.q.dtype)
    return _Rollout.apply(native, steps, step, adjoint, state.q, state.v, control.targets)  # type: ignore[misc]


def check(model: Model, state: State, control: Control, *, dt: float, steps: int, save_every: int) -> None:
    """Raise unless the inputs fit each other and are finite."""
    batch, knots = state.q.shape[0], control.targets.shape[1]
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
    def forward(ctx, native, steps, step, adjoint, q0, v0, targets):  # pyright: ignore[reportIncompatibleMethodOverride]
        from kinema import _articulation

        batch, dofs = q0.shape
        q, v = q0.new_empty(batch, steps + 1, dofs), q0.new_empty(batch, steps + 1, dofs)
        a, failed = q0.new_empty(batch, steps, dofs), torch.empty(batch, dtype=torch.int64)
        q0, v0, targets = (x.detach().contiguous() for x in (q0, v0, targets))
        _articulation.forward(native, q0=q0, v0=v0, targets=targets, q=q, v=v, a=a, failed=failed, **step)
        if bool((failed >= 0).any()):
            where = f"step {int(failed[failed >= 0].min())} of {steps}"
            raise Diverged(f"physics: the simulation diverged at {where}; steps of {step['dt']:g} s are too long")
        ctx.native, ctx.options = native, step | adjoint
        ctx.save_for_backward(targets, q, v, a)
        return q[:, :: adjoint["save_every"]].clone(), v[:, :: adjoint["save_every"]].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_q, grad_v):  # pyright: ignore[reportIncompatibleMethodOverride]
        from kinema import _articulation

        states = dict(zip(("targets", "q", "v", "a"), ctx.saved_tensors))
        start, targets = torch.empty_like(states["q"][:, 0]), torch.zeros_like(states["targets"])
        grads = {"grad_q0": start, "grad_v0": torch.empty_like(start), "grad_targets": targets}
        seen = {"grad_q": grad_q.contiguous(), "grad_v": grad_v.contiguous()}
        _articulation.backward(ctx.native, **states, **seen, **grads, **ctx.options)
        return None, None, None, None, *grads.values()


def _native(model: Model, dtype: torch.dtype):
    """Copy the constants into the kernel's own memory, each field by its name."""
    from kinema import _articulation

    kinds = {torch.float64: _articulation.Model64, torch.float32: _articulation.Model32}
    if dtype not in kinds:
        raise KinemaError(f"physics: rollouts are float32 or float64, not {dtype}")
    ground, terrain = model.contact, {}
    fields = {name: x for name, x in vars(model).items() if isinstance(x, Tensor)}
    fields["gravity"] = torch.tensor(model.gravity, dtype=torch.float64)
    if (field := ground.field) is not None:
        fields["terrain"], (x, z) = field.heights, field.origin
        terrain = {"terrain_x": x, "terrain_z": z, "terrain_step": field.spacing}
    fields = {name: x.detach().to(dtype).contiguous() for name, x in fields.items()}
    try:
        return kinds[dtype].make(
            parents=torch.tensor(model.parents, dtype=torch.int32), stop_ramp=model.stop_ramp,
            most_speed=model.most_speed, contact_stiffness=ground.stiffness, contact_damping=ground.damping,
            contact_ramp=ground.ramp, friction=ground.friction, slip_speed=ground.slip_speed, **fields, **terrain,
        )  # fmt: skip
    except ValueError as error:
        raise KinemaError(f"physics: {error}") from None
