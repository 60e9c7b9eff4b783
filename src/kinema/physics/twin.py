"""Slow twin of the native kernel: the equations of motion in torch, differentiated by autograd.

With T_j(q) the 3 x 4 transform of joint j and S_j = ∫ (x, 1)(x, 1)ᵀ dm over its body, the kinetic energy is
½ Σ tr(Ṫ_j S_j Ṫ_jᵀ), so d'Alembert's principle reads, with J = ∂T/∂q,

    Σ_j ⟨∂T_j/∂q, (T̈_j - g) S_j⟩ = τ,      T̈ = J q̈ + J̇ q̇.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jacfwd, jvp

from kinema.physics.model import Control, Dofs, HeightField, Model, State
from kinema.physics.rollout import Saved, check
from kinema.rig.kinematics import Rig, forward_kinematics

Points = Float[Tensor, "points 3"]


def rollout_twin(
    model: Model, state: State, control: Control, *, dt: float, steps: int, save_every: int = 1, implicit: bool = True
) -> tuple[Saved, Saved]:
    """Simulate as `rollout` does, with the same arguments but clipping; a step takes milliseconds."""
    check(model, state, control, dt=dt, steps=steps, save_every=save_every)
    q, v = state.q, state.v
    saved = [(q, v)]
    for step in range(steps):
        u = _at_step(control.targets, step, steps)
        a = torch.stack([acceleration(model, *item, dt=dt if implicit else 0.0) for item in zip(q, v, u)])
        v = v + dt * a
        if implicit:
            v = v.clamp(-model.most_speed, model.most_speed)
        q = q + dt * v
        if (step + 1) % save_every == 0:
            saved.append((q, v))
    positions, velocities = (torch.stack(x, 1) for x in zip(*saved))
    return positions, velocities


def _at_step(targets: Float[Tensor, "batch knots dofs"], step: int, steps: int) -> Float[Tensor, "batch dofs"]:
    knots = targets.shape[1]
    at = step * (knots - 1) / (steps - 1) if steps > 1 else 0.0
    low = max(0, min(int(at), knots - 2))
    high = min(low + 1, knots - 1)
    return targets[:, low] + (at - low) * (targets[:, high] - targets[:, low])


def acceleration(model: Model, q: Dofs, v: Dofs, u: Dofs, *, dt: float) -> Dofs:
    """q̈ with control, stops and contact taken at the end of the step (dt > 0) or at its start (dt = 0)."""

    def derivatives(f):
        """Value, Jacobian J, J q̇ and J̇ q̇ of f(q)."""
        x, xd = jvp(lambda y: f(model, y), (q,), (v,))[:2]
        bias = jvp(lambda y: jvp(lambda z: f(model, z), (y,), (v,))[1], (q,), (v,))[1]
        return x, jacfwd(lambda y: f(model, y))(q), xd, bias

    S = pseudo_inertia(model).to(q)
    _, J, _, T_bias = derivatives(transforms_at)
    gravity = q.new_zeros(3, 4)
    gravity[:, 3] = q.new_tensor(model.gravity)
    H = torch.einsum("jrcm,jcd,jrdn->mn", J, S, J)
    tau = torch.einsum("jrcm,jcd,jrd->m", J, S, gravity - T_bias)
    # PD control, k_e (u - q) - k_d q̇ at the end of the step
    M = H + torch.diag(model.armature + dt * model.damping + dt**2 * model.stiffness)
    tau = tau + model.stiffness * (u - q - dt * v) - model.damping * v
    # Soft joint limits
    for sign, limit in ((1.0, model.upper), (-1.0, model.lower)):
        over = torch.where(torch.isfinite(limit), sign * (q + dt * v - limit), torch.full_like(q, -1.0))
        value, slope = _ramp(over, model.stop_ramp)
        tau = tau - sign * model.stop_stiffness * value - model.stop_damping * slope * v
        M = M + torch.diag(dt * slope * (dt * model.stop_stiffness + model.stop_damping))
    # Ground: force f - dt D (acceleration of the corner), D = slide (I - n nᵀ) + stiff n nᵀ
    if model.contact.stiffness > 0:
        ground = model.contact
        x, Jx, xd, x_bias = (y.flatten(0, 1) for y in derivatives(corners_at))
        distance, n = distance_and_normal(ground.field, x)
        nn = n[:, :, None] * n[:, None, :]
        away = (xd * n).sum(-1)
        level = xd - away[:, None] * n
        push, push_slope = _ramp(-distance - dt * away, ground.ramp)
        s = 1 - ground.damping * away
        root = (s.square() + 0.01).sqrt()
        bounce, bounce_slope = (s + root) / 2, -ground.damping / 2 * (1 + s / root)
        normal = ground.stiffness * push * bounce
        slide = ground.friction * normal / (level.square().sum(-1) + ground.slip_speed**2).sqrt()
        f = normal[:, None] * n - slide[:, None] * level
        stiff = ground.stiffness * (dt * push_slope * bounce - push * bounce_slope)
        D = slide[:, None, None] * (torch.eye(3).to(nn) - nn) + stiff[:, None, None] * nn
        tau = tau + torch.einsum("pcm,pc->m", Jx, f - dt * (D @ x_bias[..., None]).squeeze(-1))
        M = M + dt * torch.einsum("pcm,pcd,pdn->mn", Jx, D, Jx)
    return torch.linalg.solve(M, tau)


def distance_and_normal(field: HeightField | None, x: Points) -> tuple[Float[Tensor, "points"], Points]:
    """Distance of points from the ground, along its normal to first order, and the normal."""
    if field is None:
        return x[:, 1], torch.eye(3).to(x)[1].expand_as(x)
    grid = field.heights.to(x)
    spans = []
    for axis, start, count in ((0, field.origin[0], grid.shape[0]), (2, field.origin[1], grid.shape[1])):
        at = ((x[:, axis] - start) / field.spacing).clamp(-2, count + 1)
        low = at.detach().floor()
        t, u = at - low, 1 - (at - low)
        middle = ((3 * w**3 - 6 * w**2 + 4) / 6 for w in (t, u))
        slopes = (-u * u / 2, (3 * t * t - 4 * t) / 2, (4 * u - 3 * u * u) / 2, t * t / 2)
        index = (low.long()[:, None] + torch.arange(-1, 3)).clamp(0, count - 1)
        spans.append((index, torch.stack((u**3 / 6, *middle, t**3 / 6), -1), torch.stack(slopes, -1) / field.spacing))
    (rows, wx, dx), (columns, wz, dz) = spans
    near = grid[rows[:, :, None], columns[:, None, :]]
    height, hx, hz = (torch.einsum("pr,prc,pc->p", a, near, b) for a, b in ((wx, wz), (dx, wz), (wx, dz)))
    up = torch.stack((-hx, torch.ones_like(hx), -hz), -1)
    length = up.norm(dim=-1)
    return (x[:, 1] - height) / length, up / length[:, None]


def transforms_at(model: Model, q: Dofs) -> Float[Tensor, "joints 3 4"]:
    """T_world_joint as a function of the coordinates."""
    heads = [torch.zeros_like(model.offsets[0])]
    for j, parent in enumerate(model.parents[1:], start=1):
        heads.append(heads[parent] + model.offsets[j])
    names = tuple(map(str, range(len(heads))))
    rig = Rig(names, model.parents, torch.stack(heads).to(q), model.axes.to(q))
    return forward_kinematics(rig, q[:3], q[3:].unflatten(0, (-1, 3)))


def corners_at(model: Model, q: Dofs) -> Float[Tensor, "joints 8 3"]:
    """Points that can touch the ground, in the world [m]."""
    T = transforms_at(model, q)
    return (T[:, None, :, :3] @ model.corners.to(q)[..., None]).squeeze(-1) + T[:, None, :, 3]


def mass_matrix(model: Model, q: Dofs) -> Float[Tensor, "dofs dofs"]:
    """H = Σ ⟨∂T_j/∂q, ∂T_j/∂q S_j⟩."""
    J = jacfwd(lambda x: transforms_at(model, x))(q)
    return torch.einsum("jrcm,jcd,jrdn->mn", J, pseudo_inertia(model).to(q), J)


def pseudo_inertia(model: Model) -> Float[Tensor, "joints 4 4"]:
    """∫ (x, 1)(x, 1)ᵀ dm of each body in its joint frame."""
    spread = 0.5 * model.inertia.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None] * torch.eye(3).to(model.inertia)
    second = spread - model.inertia + model.mass[:, None, None] * model.com[:, :, None] * model.com[:, None, :]
    first = (model.mass[:, None] * model.com)[..., None]
    return torch.cat((torch.cat((second, first), -1), torch.cat((first.mT, model.mass[:, None, None]), -1)), -2)


def _ramp(s: Tensor, width: float) -> tuple[Tensor, Tensor]:
    """Smooth ramp and its slope: 0 below 0, quadratic up to `width`, then of slope 1."""
    inside = s.clamp(0, width)
    return inside.square() / (2 * width) + (s - width).clamp(min=0), inside / width
