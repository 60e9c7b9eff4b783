"""Gains for the explicit integrator: as stiff as its step length bears."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jacfwd

from kinema.physics.model import Model
from kinema.physics.twin import corners_at, mass_matrix


def soften(model: Model, q: Float[Tensor, "dofs"], *, dt: float) -> Model:
    """Lower gains, contact and friction until an explicit step of `dt` is stable around the pose `q`.

    Damping k_d is stable below dt λ(H⁻¹ k_d) = 2, stiffness below dt² λ(H⁻¹ k_e) = 4; both are kept well inside, as the
    pose changes H. Joints that turn heavy parts keep their gains, light ones lose them first.
    """
    H = mass_matrix(model, q) + torch.diag(model.armature)
    inverse = torch.linalg.inv(H)
    own = inverse.diagonal()
    damping = _stable(torch.minimum(model.damping, 0.3 / (dt * own)), inverse, 0.5 / dt)
    stiffness = _stable(torch.minimum(model.stiffness, 0.1 / (dt * dt * own)), inverse, 0.2 / dt**2)
    stop_damping = _stable(torch.minimum(model.stop_damping, 0.3 / (dt * own)), inverse, 0.5 / dt)
    stop = _stable(torch.minimum(model.stop_stiffness, 0.1 / (dt * dt * own)), inverse, 0.2 / dt**2)
    # How easily the points that can touch are pushed: the greatest eigenvalue of J H⁻¹ Jᵀ [1/kg]
    points, J = corners_at(model, q), jacfwd(lambda x: corners_at(model, x))(q)
    height = points[..., 1]
    low = height < height.min() + 0.15 * (height.max() - height.min())
    mobility = torch.linalg.eigvalsh(J[low] @ inverse @ J[low].mT).amax()
    ground = model.contact
    weight = float(model.mass.sum()) * float(torch.tensor(model.gravity).norm())
    slip = 2 * dt * ground.friction * 0.5 * weight * float(mobility)
    contact = replace(
        ground,
        stiffness=min(ground.stiffness, 0.1 / (dt * dt * float(mobility))),
        slip_speed=max(ground.slip_speed, slip),
    )
    return replace(
        model,
        damping=damping,
        stiffness=stiffness,
        stop_damping=stop_damping,
        stop_stiffness=stop,
        contact=contact,
    )


def _stable(gain: Float[Tensor, "dofs"], inverse: Float[Tensor, "dofs dofs"], most: float) -> Float[Tensor, "dofs"]:
    """Scaled down so that the greatest eigenvalue of H⁻¹ diag(gain) is at most `most`."""
    root = gain.sqrt()
    greatest = float(torch.linalg.eigvalsh(root[:, None] * inverse * root).amax())
    return gain * min(1.0, most / max(greatest, 1e-30))
