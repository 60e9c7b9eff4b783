"""Gains for the explicit integrator: as stiff as its step length allows."""

from dataclasses import replace

import torch
from torch.func import jacfwd

from kinema.physics.model import Dofs, Model
from kinema.physics.twin import corners_at, mass_matrix

ARMATURE = 300.0
"""Factor on the joints' armature. Toes and fingers are so light that explicit steps would allow them a hundredth of
their damping, and friction only as thick oil: a fox walked as on ice."""


def soften(model: Model, q: Dofs, *, dt: float) -> Model:
    """Raise armature, then lower gains, contact and friction until an explicit step of `dt` is stable around `q`.

    Damping k_d is stable below dt λ(H⁻¹ k_d) = 2, stiffness below dt² λ(H⁻¹ k_e) = 4. Both stay well below, as the pose
    changes H. Joints that turn light parts lose their gains first.
    """
    model = replace(model, armature=ARMATURE * model.armature)
    inverse = torch.linalg.inv(mass_matrix(model, q) + torch.diag(model.armature))

    def stable(gain: Dofs, each: float, together: float) -> Dofs:
        """At most `each` by every coordinate alone, and `together` as the greatest eigenvalue of H⁻¹ diag(gain)."""
        gain = torch.minimum(gain, each / inverse.diagonal())
        greatest = float(torch.linalg.eigvalsh(gain.sqrt()[:, None] * inverse * gain.sqrt()).amax())
        return gain * min(1.0, together / max(greatest, 1e-30))

    # Mobility of the points that can touch: the greatest eigenvalue of J H⁻¹ Jᵀ [1/kg]
    height, J = corners_at(model, q)[..., 1], jacfwd(lambda x: corners_at(model, x))(q)
    low = height < height.min() + 0.15 * (height.max() - height.min())
    mobility = float(torch.linalg.eigvalsh(J[low] @ inverse @ J[low].mT).amax())
    ground, weight = model.contact, float(model.mass.sum()) * float(torch.tensor(model.gravity).norm())
    # Half of the weight on one corner: friction then stops it within a step, and does not throw it back.
    slip_speed = max(ground.slip_speed, dt * ground.friction * 0.5 * weight * mobility)
    return replace(
        model,
        damping=stable(model.damping, 0.3 / dt, 0.5 / dt),
        stiffness=stable(model.stiffness, 0.1 / dt**2, 0.2 / dt**2),
        stop_damping=stable(model.stop_damping, 0.3 / dt, 0.5 / dt),
        stop_stiffness=stable(model.stop_stiffness, 0.1 / dt**2, 0.2 / dt**2),
        contact=replace(ground, stiffness=min(ground.stiffness, 0.1 / (dt * dt * mobility)), slip_speed=slip_speed),
    )
