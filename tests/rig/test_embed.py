from itertools import product
from pathlib import Path

import numpy as np
import pytest
import trimesh

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.rig.embed.embed import auto_rig, embed_skeleton
from kinema.rig.embed.fit import dynamic_program, fit
from kinema.rig.embed.medial import pack_balls
from kinema.rig.embed.plans import FORMS, BodyPlan, Form
from kinema.rig.embed.templates import templates

FORM = {form.name: form for form in FORMS}


def as_mesh(shape: trimesh.Trimesh) -> Mesh:
    vertices = np.asarray(shape.vertices, dtype=np.float64)
    return Mesh(vertices, np.asarray(shape.faces), np.ones_like(vertices))


def percent_off(skeleton: Skeleton, known: dict[str, np.ndarray], mesh: Mesh) -> float:
    """Mean distance of the joints from where they are known to be, in percent of the longest side of the body."""
    heads = {name: skeleton.heads[skeleton.names.index(name)] for name in known}
    off = [float(np.linalg.norm(heads[name] - place)) for name, place in known.items()]
    return 100 * float(np.mean(off)) / float(np.ptp(mesh.vertices, axis=0).max())


@pytest.mark.parametrize(
    ("plan", "name", "most"),
    [
        ("biped", "human", 2.2),
        ("quadruped", "fox", 3.0),
        pytest.param("quadruped", "horse", 4.5, marks=pytest.mark.slow),
        pytest.param("biped", "robot", 4.5, marks=pytest.mark.slow),
        pytest.param("quadruped", "elephant", 6.0, marks=pytest.mark.slow),
        pytest.param("quadruped", "giraffe", 6.0, marks=pytest.mark.slow),
        pytest.param("quadruped", "rabbit", 5.0, marks=pytest.mark.slow),
        pytest.param("quadruped", "tiger", 4.0, marks=pytest.mark.slow),
    ],
)
def test_creatures_get_their_own_joints_back(plan: BodyPlan, name: str, most: float) -> None:
    # The template is made without the species that is asked for.
    animal = creature(name)
    assert animal.skeleton is not None
    found = fit(templates(FORM[plan], without=name), pack_balls(animal.mesh, symmetric=True))
    heads = {n: place for n, place in zip(found.template.names, found.places) if not n.endswith("_end")}
    places = dict(zip(animal.skeleton.names, animal.skeleton.heads))
    known = {n: places[n] for n in heads if n in places and not n.startswith("tail")}
    assert len(known) >= 15
    skeleton = Skeleton(tuple(heads), (-1,) * len(heads), *(np.array(list(heads.values())) for _ in range(2)))
    assert percent_off(skeleton, known, animal.mesh) < most


def test_the_human_of_pinocchio_gets_pinocchios_joints(shared_data: Path) -> None:
    folder = shared_data / "reference" / "pinocchio"
    mesh = as_mesh(trimesh.load(folder / "pinocchio_test_human.obj", process=False))
    lift = np.array([0.0, -mesh.vertices[:, 1].min(), 0.0])
    mesh = Mesh(mesh.vertices + lift, mesh.faces, mesh.colors)
    joints = np.loadtxt(folder / "pinocchio_test_human_fit_skeleton.txt")[:, 1:4] + lift
    numbers = {"hips": 2}
    for side, leg, arm in (("right", 4, 12), ("left", 8, 15)):
        numbers |= {f"{side}_leg_upper": leg, f"{side}_leg_lower": leg + 1, f"{side}_leg_foot": leg + 2}
        numbers |= {f"{side}_arm_upper": arm, f"{side}_arm_lower": arm + 1, f"{side}_hand": arm + 2}
    known = {name: joints[k] for name, k in numbers.items()}
    assert percent_off(embed_skeleton(mesh, "biped"), known, mesh) < 6


def test_a_modelled_fox_gets_its_artists_joints(shared_data: Path) -> None:
    folder = shared_data / "reference" / "pinocchio"
    turn = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # from Z up, facing -Y
    mesh = as_mesh(trimesh.load(folder / "fox_welded.obj", process=False))
    joints = np.loadtxt(folder / "fox_skeleton.txt")[:, 1:4] @ turn.T
    vertices = mesh.vertices @ turn.T
    lift = np.array([0.0, -vertices[:, 1].min(), 0.0])
    mesh, joints = Mesh(vertices + lift, mesh.faces, mesh.colors), joints + lift
    numbers = {"head": 6}
    for side, front, hind in (("left", (17, 18, 40), (23, 24, 25)), ("right", (20, 21, 44), (27, 28, 29))):
        for part, f, h in zip(("upper", "lower", "foot"), front, hind):
            numbers |= {f"front_{side}_{part}": f, f"hind_{side}_{part}": h}
    known = {name: joints[k] for name, k in numbers.items()}
    assert percent_off(embed_skeleton(mesh, "quadruped"), known, mesh) < 5


def test_an_unrigged_creature_becomes_a_character_that_moves() -> None:
    animal = creature("a fox", detail="low")
    rigged = auto_rig(Character("fox", animal.mesh))
    assert rigged.skeleton is not None
    assert "front_left_upper" in rigged.skeleton.names  # the plan was found
    assert rigged.weights is not None
    np.testing.assert_allclose(rigged.weights.sum(axis=1), 1)
    assert rigged.skeleton.parents[0] == -1
    assert all(p < j for j, p in enumerate(rigged.skeleton.parents))
    # The paws belong to the joints of the paws.
    paws = animal.mesh.vertices[:, 1] < 0.02
    top = np.array(rigged.skeleton.names)[rigged.weights[paws].argmax(axis=1)]
    assert np.mean([name.endswith(("toes", "foot", "lower")) for name in top]) > 0.95
    # A mirror-symmetric animal has a mirror-symmetric skeleton.
    heads = dict(zip(rigged.skeleton.names, rigged.skeleton.heads))
    for name, place in heads.items():
        other = heads[name.replace("left", "*").replace("right", "left").replace("*", "right")]
        np.testing.assert_allclose(place[1:], other[1:], atol=1e-9)


def test_dynamic_programming_finds_the_least_of_all_choices() -> None:
    rng = np.random.default_rng(0)
    parents = (-1, 0, 0, 1, 2)
    for _ in range(5):
        unary, pairs = rng.random((5, 4)), rng.random((5, 4, 4))
        found, least = dynamic_program(parents, unary, lambda k, pairs=pairs: pairs[k])

        def total(choice: tuple[int, ...], unary: np.ndarray = unary, pairs: np.ndarray = pairs) -> float:
            cost = sum(unary[k, c] for k, c in enumerate(choice))
            return cost + sum(pairs[k, choice[parents[k]], choice[k]] for k in range(1, 5))

        assert least == pytest.approx(min(total(c) for c in product(range(4), repeat=5)))
        assert total(tuple(found)) == pytest.approx(least)


def test_balls_fill_a_bar_from_end_to_end() -> None:
    bar = trimesh.creation.cylinder(radius=0.2, height=4.0)
    balls = pack_balls(as_mesh(bar))
    # The largest lie on the axis with the bar's radius; none sticks out by more than a cell.
    cell = 4.0 / 110
    first = balls.radii > 0.16
    assert np.abs(balls.centers[first, :2]).max() < 2 * cell
    assert balls.radii.max() == pytest.approx(0.2, abs=cell)
    assert (np.linalg.norm(balls.centers[:, :2], axis=1) + balls.radii).max() < 0.2 + cell
    # The way from end to end is the length of the bar.
    low, high = balls.centers[:, 2].argmin(), balls.centers[:, 2].argmax()
    assert balls.paths[low, high] == pytest.approx(np.ptp(balls.centers[:, 2]), rel=0.1)
    assert {low, high} & set(balls.ends.tolist()) or len(balls.ends) >= 2


def test_a_sheet_has_no_inside() -> None:
    sheet = Mesh(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]]), np.ones((3, 3)))
    with pytest.raises(KinemaError, match="encloses no volume"):
        pack_balls(sheet)
    with pytest.raises(KinemaError, match="needs a mesh with triangles"):
        embed_skeleton(Mesh(sheet.vertices, sheet.faces[:0], sheet.colors))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_templates_are_trees_with_finite_statistics(form: Form) -> None:
    points = templates(form)[0]
    assert len(points.names) == len(form.links) == len(set(points.names))
    assert all(p < k for k, p in enumerate(points.parents))
    assert np.isfinite(points.place.mean).all()
    assert np.isfinite(points.bone.spread).all()
    left = points.place.mean[[n.startswith("left") or "_left_" in n for n in points.names], 0]
    assert (left > 0).all()
