"""The kernel against its slow twin, and its gradients against finite differences."""

from copy import copy
from dataclasses import replace

import pytest
import torch
from physics_bodies import chain, model_of, quadruped, rest

from kinema import _articulation
from kinema.errors import KinemaError
from kinema.physics.model import Control, HeightField, State
from kinema.physics.rollout import rollout
from kinema.physics.twin import rollout_twin


def touching(body, *, batch: int, seed: int, knots: int):
    """A body thrown onto the ground with joint stops within reach: every term of the dynamics is active."""
    rig, model = model_of(body)
    limit = torch.full((model.dofs,), 0.15, dtype=torch.float64)
    limit[:6] = torch.inf
    model = replace(model, lower=-limit, upper=limit)
    generator = torch.Generator().manual_seed(seed)

    def noise(*shape: int):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    q = rest(rig) + 0.1 * noise(batch, model.dofs)
    q[:, 1] = 0.02 if len(rig.parents) < 10 else 0.57
    v = noise(batch, model.dofs)
    return model, q, v, q[:, None] + 0.2 * noise(batch, knots, model.dofs)


def assert_equal_to_the_twin(model, inputs, loss, **options) -> torch.Tensor:
    """Values and the gradients of `loss`; returns the positions."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    results = []
    for function in (rollout, rollout_twin):
        out = torch.stack(function(model, State(inputs[0], inputs[1]), Control(inputs[2]), **options))
        results.append((out, *torch.autograd.grad(loss(out), inputs)))
    for fast, slow in zip(*results):
        assert float((fast - slow).detach().norm() / slow.detach().norm()) < 1e-11
    return results[0][0][0].detach()


def weighted_sum(dofs: int):
    weights = torch.randn(2, 2, 5, dofs, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return lambda out: (out * weights).sum()


@pytest.mark.parametrize("implicit", [True, False])
@pytest.mark.parametrize("knots", [1, 3, 8])
def test_kernel_equals_twin_in_values_and_gradients(implicit: bool, knots: int) -> None:
    model, *inputs = touching(chain(3, height=0.05), batch=2, seed=knots, knots=knots)
    options = {"dt": 2e-3 if implicit else 1e-4, "steps": 8, "save_every": 2, "implicit": implicit}
    assert_equal_to_the_twin(model, inputs, weighted_sum(model.dofs), **options)


def hills() -> HeightField:
    """Random control points of 3 cm standard deviation, 15 cm apart; the body is 60 cm long."""
    generator = torch.Generator().manual_seed(8)
    return HeightField(0.03 * torch.randn(7, 9, generator=generator, dtype=torch.float64), (-0.4, -0.3), 0.15)


@pytest.mark.parametrize("implicit", [True, False])
def test_kernel_equals_twin_on_a_height_field(implicit: bool) -> None:
    model, *inputs = touching(chain(3, height=0.05), batch=2, seed=5, knots=3)
    # The second body lies past the field's edge, which goes on.
    inputs[0][1, 2] += 0.75
    rough = replace(model, contact=replace(model.contact, field=hills()))
    options = {"dt": 2e-3 if implicit else 1e-4, "steps": 8, "save_every": 2, "implicit": implicit}
    path = assert_equal_to_the_twin(rough, inputs, weighted_sum(model.dofs), **options)
    flat = rollout(model, State(*inputs[:2]), Control(inputs[2]), **options)[0]
    assert ((path - flat).abs().amax((1, 2)) > 1e-7).all()


@pytest.mark.parametrize("implicit", [True, False])
def test_adjoint_equals_finite_differences_with_contacts(implicit: bool) -> None:
    model, *inputs = touching(quadruped(), batch=1, seed=3, knots=4)
    dt, steps = (1 / 600, 60) if implicit else (1e-5, 200)
    if not implicit:
        soft = {k: 0.01 * getattr(model, k) for k in ("stiffness", "damping", "stop_stiffness", "stop_damping")}
        model = replace(model, **soft, contact=replace(model.contact, slip_speed=0.5))
    generator = torch.Generator().manual_seed(5)
    weight_q, weight_v = torch.randn(2, 1, steps // 20 + 1, model.dofs, generator=generator, dtype=torch.float64)

    def loss(q, v, u, model=model):
        path, speed = rollout(model, State(q, v), Control(u), dt=dt, steps=steps, save_every=20, implicit=implicit)
        return (path * weight_q).sum() + 0.1 * (speed * weight_v).sum()

    leaves = [x.clone().requires_grad_() for x in inputs]
    grads = torch.autograd.grad(loss(*leaves), leaves)
    # The ground is really touched: without it the motion is another one.
    free = replace(model, contact=replace(model.contact, stiffness=0.0))
    assert float((loss(*inputs) - loss(*inputs, model=free)).abs()) > 1e-4
    for which, grad in enumerate(grads):
        for _ in range(3):
            direction = torch.randn(inputs[which].shape, generator=generator, dtype=torch.float64)
            eps = 1e-6
            ends = [[x + s * eps * direction if k == which else x for k, x in enumerate(inputs)] for s in (1, -1)]
            numeric = (loss(*ends[0]) - loss(*ends[1])) / (2 * eps)
            exact = (grad * direction).sum()
            assert float((numeric - exact).abs() / exact.abs()) < 1e-5


def test_limited_speeds_equal_the_twin() -> None:
    model, *inputs = touching(chain(3, height=0.05), batch=1, seed=2, knots=1)
    model = replace(model, most_speed=0.7)
    assert_equal_to_the_twin(model, inputs, lambda out: out[0].sin().sum(), dt=2e-3, steps=4)


def test_float32_follows_float64() -> None:
    model, q, v, u = touching(quadruped(), batch=1, seed=3, knots=4)
    outs = []
    for dtype in (torch.float64, torch.float32):
        x, w, c = (t.to(dtype).requires_grad_() for t in (q, v, u))
        path, _ = rollout(model.to(dtype), State(x, w), Control(c), dt=1 / 600, steps=50)
        outs.append((path.detach().double(), *(g.double() for g in torch.autograd.grad(path.sum(), (x, w, c)))))
    for exact, single in zip(*outs):
        assert float((exact - single).norm() / exact.norm()) < 2e-3


def test_a_batch_is_its_items_whatever_the_threads() -> None:
    model, q, v, u = touching(quadruped(), batch=5, seed=4, knots=2)
    options = {"dt": 1 / 600, "steps": 20}
    together = rollout(model, State(q, v), Control(u), threads=3, **options)[0]
    for i in range(5):
        alone = rollout(model, State(q[i : i + 1], v[i : i + 1]), Control(u[i : i + 1]), threads=1, **options)[0]
        assert torch.equal(together[i], alone[0])


def test_clipping_bounds_the_adjoints_and_keeps_the_first_chunk() -> None:
    model, q, v, u = touching(quadruped(), batch=1, seed=4, knots=40)
    leaves = [x.requires_grad_() for x in (q, v, u)]
    grads = {}
    for clip in (None, 1.0, 1e9):
        path, _ = rollout(model, State(q, v), Control(u), dt=1 / 600, steps=40, clip=clip, clip_every=10)
        grads[clip] = torch.autograd.grad(1e3 * path[:, 1:].square().sum(), leaves)
    for exact, loose in zip(grads[None], grads[1e9]):
        assert torch.equal(exact, loose)
    assert float(grads[1.0][0].norm()) <= 1 + 1e-12
    assert float(grads[1.0][1].norm()) <= 1 + 1e-12
    for chunk in grads[1.0][2][0].split(10):
        assert float(chunk.norm()) <= 1 + 1e-12
    # The last chunk in time is the first on the way back: it is only scaled, its direction is exact.
    last, exact = grads[1.0][2][0, 30:], grads[None][2][0, 30:]
    assert float(torch.nn.functional.cosine_similarity(last.flatten(), exact.flatten(), dim=0)) > 1 - 1e-9


@pytest.mark.parametrize("which", [0, 1, 2])
def test_what_is_not_finite_is_refused(which: int) -> None:
    model, *inputs = touching(quadruped(), batch=1, seed=4, knots=4)
    inputs[which].flatten()[7] = torch.nan
    with pytest.raises(KinemaError, match="not finite"):
        rollout(model, State(inputs[0], inputs[1]), Control(inputs[2]), dt=1e-3, steps=4)


def test_divergence_is_an_error_and_never_a_nan() -> None:
    model, q, v, u = touching(quadruped(), batch=1, seed=4, knots=4)
    with pytest.raises(KinemaError, match="diverged at step"):
        rollout(model, State(q, 50 * v), Control(u), dt=0.02, steps=400, implicit=False)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"mass": torch.ones(5).double()}, r"field 'mass' has the shape \[5\], not \[3\]"),
        ({"corners": torch.zeros(3, 4, 3).double()}, r"field 'corners' has the shape \[3, 4, 3\], not \[3, 8, 3\]"),
        ({"parents": (-1, 2, 1)}, "field 'parents' has a joint before its parent"),
    ],
)
def test_a_misshapen_model_is_refused_by_the_name_of_the_field(change: dict, complaint: str) -> None:
    model, q, v, u = touching(chain(3, height=0.05), batch=1, seed=4, knots=1)
    model = copy(model)
    vars(model).update(change)  # past the dataclass's own checks of shapes
    with pytest.raises(KinemaError, match=complaint):
        rollout(model, State(q, v), Control(u), dt=1e-3, steps=2)


def test_the_kernel_names_missing_unknown_and_wrong_fields() -> None:
    one = torch.ones(1, dtype=torch.float64)
    parents = torch.tensor([-1], dtype=torch.int32)
    with pytest.raises(ValueError, match="model field 'parents' is missing"):
        _articulation.Model64.make()
    with pytest.raises(ValueError, match="model field 'offsets' is not a dense array on the CPU of the model's dtype"):
        _articulation.Model64.make(parents=parents, offsets=torch.zeros(1, 3))
    arrays = {"offsets": (1, 3), "axes": (1, 3, 3), "com": (1, 3), "inertia": (1, 3, 3), "corners": (1, 8, 3)}
    arrays |= {"mass": (1,), "gravity": (3,)}
    gains = ("stiffness", "damping", "armature", "lower", "upper", "stop_stiffness", "stop_damping")
    arrays |= dict.fromkeys(gains, (6,))
    numbers = ("stop_ramp", "most_speed", "contact_stiffness", "contact_damping", "contact_ramp", "friction")
    fields = {name: one.expand(shape).contiguous() for name, shape in arrays.items()} | dict.fromkeys(numbers, 1.0)
    with pytest.raises(ValueError, match="model field 'slip_speed' is not a number"):
        _articulation.Model64.make(parents=parents, **fields, slip_speed="fast")
    with pytest.raises(ValueError, match="model field 'colour' is unknown"):
        _articulation.Model64.make(parents=parents, **fields, slip_speed=1.0, colour=1.0)
