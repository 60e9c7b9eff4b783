"""The baseline without a skeleton: what a field is, and that its gradients are those of finite differences."""

import numpy as np
import pytest
import torch
from torch.func import jacfwd

from kinema.create.creatures import creature
from kinema.distill.config import Animate, Resolved, resolve
from kinema.distill.energies import sole_points, weighted_energies
from kinema.distill.field import Field
from kinema.distill.skeleton import Basis
from kinema.distill.tempo import Tempo
from kinema.render.follow import Viewpoint
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import forward_kinematics
from kinema.rig.limbs import find_limbs
from kinema.skin import skin_covariances

LIMBS = find_limbs(creature("fox"))
WALK = Tempo("walk", True, 9.0, 13.0, 0.05, 0.33)


@pytest.fixture(scope="module")
def stage() -> Stage:
    character = creature("fox")
    rig = Anatomy.of(character).rig
    return Stage.from_character(character, rig, count=40, look="canonical", rng=np.random.default_rng(0))


def moving(stage: Stage, kind: str = "fourier") -> Field:
    """A field that has learnt something."""
    generator = torch.Generator().manual_seed(0)
    field = Field(stage, LIMBS, WALK, Basis.of(kind, WALK, 16), generator=generator)  # type: ignore[arg-type]
    torch.nn.init.normal_(field.layers[-1].weight, std=0.02, generator=generator)
    return field


def test_at_first_everything_is_carried_along_the_rigid_path(stage: Stage) -> None:
    field = Field(stage, LIMBS, WALK, Basis.of("free", WALK, 16), generator=torch.Generator().manual_seed(0))
    at, points = torch.arange(16.0), stage.splats.centers
    wanted = points + at[:, None, None] * torch.tensor([0.0, 0.0, 0.05])
    torch.testing.assert_close(field(points, at), wanted)
    places, slope = field.bend(points, at)
    torch.testing.assert_close(places, wanted)
    torch.testing.assert_close(slope, torch.eye(3).expand(16, len(points), 3, 3))


@pytest.mark.parametrize("kind", ["fourier", "dct", "free"])
def test_time_is_spelled_as_the_skeletons(stage: Stage, kind: str) -> None:
    """A point's way from the path is linear in the values of the same basis; a cycle closes."""
    field, at = moving(stage, kind), torch.linspace(0, 15, 31)
    points = stage.splats.centers[:5]
    ways = field.ways(points)
    assert ways.shape == (5, field.basis.terms, 3)
    wanted = points + torch.einsum("fk,nkd->fnd", field.basis.table(at), ways) + field.travel(at)[:, None]
    torch.testing.assert_close(field(points, at), wanted)
    if kind == "fourier":
        a, b = (field(points, t) - field.travel(t)[:, None] for t in (at[:5], at[:5] + WALK.period))
        torch.testing.assert_close(a, b, atol=1e-5, rtol=0)
    assert field.start(0.5, 16) == (4.5 if kind == "fourier" else 0.0)


def test_covariances_deform_by_the_jacobian(stage: Stage) -> None:
    """Eq. 2: Σ' = ∇φ Σ ∇φᵀ, with ∇φ that of central differences in float64."""
    field, at = moving(stage).double(), torch.tensor([0.0, 3.5], dtype=torch.float64)
    points, step = stage.splats.centers[:6].double(), 1e-6
    columns = [(field(points + step * axis, at) - field(points - step * axis, at)) / (2 * step)
               for axis in torch.eye(3, dtype=torch.float64)]  # fmt: skip
    slope = torch.stack(columns, -1)
    places, bent = field.bend(points, at)
    torch.testing.assert_close(places, field(points, at))
    torch.testing.assert_close(bent, slope, atol=1e-7, rtol=1e-6)
    covariances = stage.splats.covariances[:6].double()
    wanted = skin_covariances(torch.cat((slope, slope[..., :1]), -1), covariances)
    torch.testing.assert_close(bent @ covariances @ bent.mT, wanted, atol=1e-9, rtol=1e-5)
    exact = jacfwd(lambda x: field(x[None], at)[:, 0])(points[0])
    torch.testing.assert_close(bent[:, 0], exact)


def test_the_films_gradient_is_that_of_finite_differences(stage: Stage) -> None:
    """Through centres and Jacobian, to a weight of the first and of the last layer."""
    double = Stage(**(vars(stage) | {"splats": stage.splats.to(dtype=torch.float64), "rig": stage.rig.to(torch.float64),
                                     "colors": stage.colors.double()}))  # fmt: skip
    field, at = moving(double).double(), torch.tensor([1.0, 4.0], dtype=torch.float64)
    cameras = double.cameras(field.travel(at), Viewpoint(60.0, 10.0, 1.0, 30.0), width=32, height=24)
    weight = torch.randn(2, 3, 24, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def loss() -> torch.Tensor:
        return (field.film(at, cameras).video * weight).sum()

    for layer in (field.layers[0], field.layers[-1]):
        parameter = layer.weight
        (found,) = torch.autograd.grad(loss(), parameter)
        direction = torch.randn(parameter.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        values, step = [], 1e-8  # alpha is cut off at 1/255: a longer step would meet such jumps
        with torch.no_grad():
            for sign in (1, -1):
                parameter += sign * step * direction
                values.append(float(loss()))
                parameter -= sign * step * direction
        assert float((found * direction).sum()) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-4)


def test_feet_count_as_the_skeletons_do(stage: Stage) -> None:
    """At rest on its path a field's soles are those of the rig; the path then takes the speed of standing feet."""
    field = Field(stage, LIMBS, WALK, Basis.of("fourier", WALK, 16), generator=torch.Generator().manual_seed(0))
    at = torch.arange(4.0)
    rest = forward_kinematics(stage.rig, stage.rig.heads[:1], torch.zeros_like(stage.rig.heads)[None])
    moved = sole_points(rest, LIMBS) + field.travel(at)[:, None]
    torch.testing.assert_close(field.soles(at), moved)
    cameras = stage.cameras(field.travel(at), Viewpoint(60.0, 10.0, 1.0, 30.0), width=32, height=24)
    filmed = field.film(at, cameras)
    assert filmed.soles is not None
    config, anatomy = Resolved("fox", "a fox is walking"), Anatomy.of(creature("fox"))
    energies = [weighted_energies(filmed, config, anatomy, feet=feet) for feet in (0.0, 1.0)]
    # All feet slide at 0.05 m per frame: slip_weight (0.05 / leg)^2, but for feet that are not quite low.
    slip = config.slip_weight * (0.05 / LIMBS.leg_length) ** 2
    assert float((energies[1] - energies[0]).detach()) > 0.9 * slip
    # Feet that do not move on the body stand still only where the body does: slowest that the bounds allow.
    field.match_speed()
    assert float(field.travel(torch.ones(1))[0, 2]) < 0.05


def test_fields_have_no_loop_and_are_not_planted() -> None:
    assert not resolve(Animate("fox", "a fox is walking", parameters="field")).loop
