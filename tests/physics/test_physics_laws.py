"""Closed-form mechanics: each test has its equation beside it."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from physics_bodies import chain, humanoid, model_of, passive, quadruped, rest, skeleton

from kinema.geometry.transforms import matrix_to_euler
from kinema.physics.model import Contact, Control, HeightField, Model, State, make_model
from kinema.physics.rollout import rollout
from kinema.physics.twin import pseudo_inertia
from kinema.rig.cuboids import Cuboids
from kinema.rig.kinematics import Rig, forward_kinematics


def simulate(model: Model, q, v, *, dt: float, steps: int, save_every: int = 1, target=None):
    control = Control((q if target is None else target)[:, None])
    return rollout(model, State(q, v), control, dt=dt, steps=steps, save_every=save_every)


def energy_and_momenta(rig: Rig, model: Model, q, v):
    """Total energy, linear momentum and angular momentum about the origin, from T_j(q) and its time derivative."""

    def place(x):
        return forward_kinematics(rig, x[:3], x[3:].unflatten(0, (-1, 3)))

    T, Td = torch.func.jvp(place, (q,), (v,))
    S = pseudo_inertia(model)
    moved = Td @ S  # ∫ ẋ (x, 1)ᵀ dm
    kinetic = 0.5 * (moved * Td).sum()
    first = (T @ S)[..., 3].sum(0)
    potential = -first @ torch.tensor(model.gravity, dtype=q.dtype)
    linear = moved[..., 3].sum(0)
    twist = (moved @ T.mT).sum(0)  # ∫ ẋ xᵀ dm; its antisymmetric part is the angular momentum
    angular = torch.stack((twist[2, 1] - twist[1, 2], twist[0, 2] - twist[2, 0], twist[1, 0] - twist[0, 1]))
    return kinetic + potential, linear, angular


def test_free_fall() -> None:
    rig, model = model_of(quadruped())
    model = passive(model)
    q, dt, steps = rest(rig), 1e-3, 500
    path, speed = simulate(model, q, torch.zeros_like(q), dt=dt, steps=steps)
    t = dt * torch.arange(steps + 1, dtype=torch.float64)
    # symplectic Euler: y = h - g t (t + dt) / 2 and v = -g t, exactly
    torch.testing.assert_close(path[0, :, 1], q[0, 1] - 0.5 * 9.81 * t * (t + dt), atol=1e-10, rtol=0)
    torch.testing.assert_close(speed[0, :, 1], -9.81 * t, atol=1e-10, rtol=0)
    torch.testing.assert_close(path[0, :, 3:], torch.zeros_like(path[0, :, 3:]), atol=1e-10, rtol=0)


@pytest.mark.parametrize("amplitude", [0.05, 1.0])
def test_pendulum_period(amplitude: float) -> None:
    bones: dict = {"fixed": (None, (0, 1, 0), (0, 1.1, 0)), "rod": ("fixed", (0, 1, 0), (0, 0.4, 0))}
    rig, model = model_of(skeleton(bones))
    model = passive(model)
    held = torch.zeros_like(model.armature)
    held[:6] = 1e12  # a root of infinite inertia does not move
    model = replace(model, armature=held)
    q = rest(rig)
    q[0, 6] = amplitude
    dt, steps = 2e-4, 20_000
    angle = simulate(model, q, torch.zeros_like(q), dt=dt, steps=steps)[0][0, :, 6]
    down = ((angle[:-1] > 0) & (angle[1:] <= 0)).nonzero().flatten()
    crossing = (down + angle[down] / (angle[down] - angle[down + 1])) * dt
    period = float((crossing[-1] - crossing[0]) / (len(crossing) - 1))
    # T = 2π sqrt(I / (m g l)) / agm(1, cos(amplitude / 2)), I about the pivot
    mass, l = float(model.mass[1]), 0.3
    inertia = float(model.inertia[1, 0, 0]) + mass * l * l
    a, b = 1.0, math.cos(amplitude / 2)
    for _ in range(6):
        a, b = (a + b) / 2, math.sqrt(a * b)
    assert period == pytest.approx(2 * math.pi * math.sqrt(inertia / (mass * 9.81 * l)) / a, rel=2e-4)


@pytest.mark.parametrize("body", [quadruped, humanoid])
def test_flight_conserves_momentum_and_energy_to_first_order(body) -> None:
    rig, model = model_of(body())
    model = replace(passive(model), gravity=(0.0, 0.0, 0.0))
    generator = torch.Generator().manual_seed(1)
    q = rest(rig)
    q[:, 3:] += 0.2 * torch.randn(q[:, 3:].shape, generator=generator, dtype=torch.float64)
    v = torch.randn(q.shape, generator=generator, dtype=torch.float64)
    before = energy_and_momenta(rig, model, q[0], v[0])
    errors = []
    for steps in (200, 400, 800):
        path, speed = simulate(model, q, v, dt=0.2 / steps, steps=steps, save_every=steps)
        after = energy_and_momenta(rig, model, path[0, -1], speed[0, -1])
        errors.append([float((a - b).norm() / b.norm()) for a, b in zip(after, before)])
    # A first-order integrator errs by C dt: halving dt halves the error of energy and of both momenta.
    for coarse, fine in pairwise(errors):
        for c, f in zip(coarse, fine):
            assert c / f == pytest.approx(2.0, rel=0.15)
    assert max(errors[-1]) < 2e-2


def block() -> tuple[Rig, Model]:
    """A flat slab, free to move, on ground that swallows bounces."""
    bones: dict = {"box": (None, (0, 0.025, 0), (0, 0.025, 0.5))}
    body = skeleton(bones)
    rig = Rig.from_skeleton(body, dtype=torch.float64)
    half = np.array([[0.25, 0.025, 0.25]])
    model = make_model(rig, Cuboids(np.array([[0, 0, 0.25]]), np.eye(3)[None], half, 8 * half.prod(-1)), friction=0.5)
    zero = torch.zeros_like(model.stiffness)
    return rig, replace(
        model, stiffness=zero, damping=zero, contact=replace(model.contact, slip_speed=1e-3, damping=10.0)
    )


@pytest.mark.parametrize("slope", [0.3, 0.45, 0.55, 0.8])
def test_friction_cone_on_an_incline(slope: float) -> None:
    rig, model = block()
    alpha, g = math.atan(slope), 9.81
    # The ground stays y = 0; gravity leans instead.
    model = replace(model, gravity=(g * math.sin(alpha), -g * math.cos(alpha), 0.0))
    q = rest(rig)
    dt, steps = 1e-3, 1000
    path, speed = simulate(model, q, torch.zeros_like(q), dt=dt, steps=steps)
    final = float(speed[0, -1, 0])
    if slope < 0.5:
        # |f| = µ N v / sqrt(v² + s²) = m g sin α  =>  v = s tan α / sqrt(µ² - tan² α): creep of the order of s
        creep = 1e-3 * slope / math.sqrt(0.25 - slope**2)
        assert final == pytest.approx(creep, rel=0.02)
        assert float(path[0, -1, 0] - q[0, 0]) < 1.5 * creep * dt * steps + 1e-3
    else:
        # a = g (sin α - µ cos α)
        a = g * (math.sin(alpha) - 0.5 * math.cos(alpha))
        assert float(speed[0, -1, 0] - speed[0, 500, 0]) == pytest.approx(a * 0.5, rel=0.02)


@pytest.mark.parametrize("slope", [0.45, 0.8])
def test_a_height_field_with_a_slope_is_flat_ground_under_leaning_gravity(slope: float) -> None:
    rig, model = block()
    alpha, g, dt, steps = math.atan(slope), 9.81, 1e-3, 400
    q = rest(rig)
    leaning = replace(model, gravity=(g * math.sin(alpha), -g * math.cos(alpha), 0.0))
    expected, _ = simulate(leaning, q, torch.zeros_like(q), dt=dt, steps=steps)
    # A cubic B-spline reproduces the plane y = -x tan α exactly; the slab starts turned by -α about z, on it.
    x = torch.arange(-10, 21, dtype=torch.float64)[:, None].expand(-1, 31)
    field = HeightField(-slope * 0.5 * x, (-5.0, -5.0), 0.5)
    tilted = replace(model, contact=replace(model.contact, field=field))
    R = torch.tensor([[math.cos(alpha), math.sin(alpha), 0], [-math.sin(alpha), math.cos(alpha), 0], [0, 0, 1]])
    R = R.double()
    axes = rig.axes[0]
    # q are the angles of R about the joint's axes: R = A Rx(a) Ry(b) Rz(c) Aᵀ
    start = torch.cat((R @ q[0, :3], matrix_to_euler(axes.T @ R @ axes)))[None]
    path, _ = simulate(tilted, start, torch.zeros_like(start), dt=dt, steps=steps)
    torch.testing.assert_close(path[0, :, :3] @ R, expected[0, :, :3], atol=1e-7, rtol=0)


def test_a_slab_comes_to_rest_in_a_bowl() -> None:
    rig, model = block()
    at = torch.linspace(-1, 1, 41, dtype=torch.float64)
    bowl = HeightField(0.5 * (at[:, None] ** 2 + at[None] ** 2), (-1.0, -1.0), 0.05)
    model = replace(model, contact=replace(model.contact, field=bowl))
    q = rest(rig)
    q[0, 0] += 0.25
    q[0, 1] += 0.3
    path, speed = simulate(model, q, torch.zeros_like(q), dt=1e-3, steps=4000, save_every=1000)
    middle = forward_kinematics(rig, path[0, -1, :3], path[0, -1, 3:].unflatten(0, (-1, 3)))[0]
    centre = middle[:, :3] @ model.com[0] + middle[:, 3]
    # y = (x² + z²) / 2 is as steep as |(x, z)|, and friction of 0.5 holds nothing where that is more than 0.5.
    assert float(speed[0, -1].abs().max()) < 5e-3
    assert float(centre[[0, 2]].norm()) < 0.5
    assert 0.0 < float(centre[1]) < 0.3


def test_resting_contact_does_not_drift() -> None:
    rig, model = block()
    q = rest(rig)
    path, speed = simulate(model, q, torch.zeros_like(q), dt=1e-3, steps=5000)
    assert float(speed[0, -1].abs().max()) < 1e-9
    assert float((path[0, -1] - path[0, 2500]).abs().max()) < 1e-9
    # Four corners share the weight: k ramp(d) b = m g / 4, with ramp(d) = d - width / 2 and the smooth
    # Hunt-Crossley factor b = (1 + sqrt(1.01)) / 2 at rest.
    depth = -(float(path[0, -1, 1]) - 0.025)
    expected = 1e-3 / (0.5 * (1 + math.sqrt(1.01))) + model.contact.ramp / 2
    assert depth == pytest.approx(expected, rel=1e-6)


def test_a_standing_quadruped_holds_still_at_every_step_length() -> None:
    for dt in (1 / 240, 1 / 600, 1 / 1200):
        rig, model = model_of(quadruped())
        q = rest(rig)
        steps = round(3 / dt)
        path, speed = simulate(model, q, torch.zeros_like(q), dt=dt, steps=steps, save_every=steps // 3)
        # Friction smoothed at 2 cm/s creeps under a load, so the bound is a speed and not zero.
        assert float(speed[0, -1].abs().max()) < 2e-3
        assert float((path[0, -1] - path[0, -2]).abs().max()) < 2e-3


def test_a_soft_stop_holds_a_joint_at_its_limit() -> None:
    limits = torch.tensor([-0.3, 0.3], dtype=torch.float64).expand(2, 3, 2)
    rig, model = model_of(chain(2), limits=limits)
    held = model.armature.clone()
    held[:6] = 1e12
    model = replace(model, armature=held, contact=Contact(0.0), gravity=(0.0, 0.0, 0.0))
    q = rest(rig)
    target = q.clone()
    target[0, 6:] = 1.0
    path, _ = simulate(model, q, torch.zeros_like(q), dt=1e-3, steps=3000, target=target)
    # Statics: k_e (1 - θ) = k_s (θ - 0.3 - ramp / 2)
    ke, ks = float(model.stiffness[6]), float(model.stop_stiffness[6])
    expected = (ke + ks * (0.3 + model.stop_ramp / 2)) / (ke + ks)
    torch.testing.assert_close(path[0, -1, 6:], torch.full((3,), expected, dtype=torch.float64), atol=1e-6, rtol=0)
