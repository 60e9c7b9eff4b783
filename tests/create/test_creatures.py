from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
import trimesh

from kinema.asset.character import Character
from kinema.create.creatures import Species, creature, random_creature, species
from kinema.create.creatures.body import Blob, Body, Number
from kinema.create.creatures.field import blob_distance, body_distance, smooth_min
from kinema.create.creatures.generate import generate, skin_weights
from kinema.create.creatures.proportions import Coat, Degrees, Speed, scaled
from kinema.create.creatures.table import ALSO, SPECIES
from kinema.create.creatures.variation import vary
from kinema.errors import KinemaError
from kinema.rig.kinematics import Rig, forward_kinematics
from kinema.rig.limbs import find_limbs
from kinema.skin import Skin, blend, skin_points

NAMES = [entry.name for entry in species()]
LEGS = {
    "biped": 2, "bird": 2, "quadruped": 4, "winged": 4, "hexapod": 6, "octopod": 8, "crab": 8, "fish": 0, "ray": 0,
    "snake": 0,
}  # fmt: skip
"""Number of legs of each family."""


class Zoo(dict[str, Character]):
    """Species by name, each made when it is first asked for."""

    def __missing__(self, name: str) -> Character:
        self[name] = creature(name)
        return self[name]


@pytest.fixture(scope="module")
def zoo() -> Zoo:
    return Zoo()


def solid(character: Character) -> trimesh.Trimesh:
    return trimesh.Trimesh(character.mesh.vertices, character.mesh.faces, process=False)


HOVERING = {"fish", "ray"}
"""Families that swim and do not touch the ground."""


def check_character(character: Character, *, hovers: bool = False) -> None:
    """Everything that must hold for any creature, random ones included."""
    mesh, skeleton, weights = character.mesh, character.skeleton, character.weights
    assert skeleton is not None
    assert weights is not None
    body = solid(character)
    assert body.is_watertight
    assert body.is_winding_consistent
    # Every closed part has its normals outside: positive volume.
    assert all(part.volume > 0 for part in body.split(only_watertight=False))
    assert np.isfinite(mesh.vertices).all()
    assert mesh.colors.min() >= 0
    assert mesh.colors.max() <= 1
    size, low = np.ptp(mesh.vertices, axis=0).max(), mesh.vertices[:, 1].min()
    assert 0.05 * size < low < 0.6 * size if hovers else abs(low) < 1e-6 * size

    assert skeleton.parents[0] == -1
    assert all(0 <= parent < joint for joint, parent in enumerate(skeleton.parents) if joint)
    assert len(set(skeleton.names)) == len(skeleton.names)
    assert (np.linalg.norm(skeleton.tails - skeleton.heads, axis=-1) > 0).all()

    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-12)
    assert weights.min() >= 0
    left = [j for j, name in enumerate(skeleton.names) if "left" in name]
    right = [j for j, name in enumerate(skeleton.names) if "right" in name]
    assert not ((weights[:, left].sum(1) > 0) & (weights[:, right].sum(1) > 0)).any()
    # No joint without skin; every leaf (foot, hand, tail tip, head) mainly moves some.
    assert (weights.max(0) > 0.1).all()
    assert all(weights[:, j].max() > 0.5 for j in range(len(skeleton.names)) if j not in skeleton.parents)


@pytest.mark.parametrize("name", NAMES)
def test_species(name: str, zoo: dict[str, Character]) -> None:
    character = zoo[name]
    check_character(character, hovers=SPECIES[name].family in HOVERING)
    assert character.skeleton is not None
    assert character.weights is not None
    assert 2000 <= len(character.mesh.vertices) <= 8000
    # Each joint mainly moves some part of the surface.
    assert (character.weights.max(0) > 0.5).all()
    # Bones of fingers lie within the palm too: a joint is inside if any closed part has it inside.
    parts = solid(character).split(only_watertight=False)
    outside = ~np.any([part.contains(character.skeleton.heads) for part in parts], axis=0)
    assert not outside.any(), [n for n, out in zip(character.skeleton.names, outside, strict=True) if out]


@pytest.mark.parametrize("name", NAMES)
def test_left_and_right_mirror(name: str, zoo: dict[str, Character]) -> None:
    skeleton = zoo[name].skeleton
    assert skeleton is not None
    for joint, label in enumerate(skeleton.names):
        if "left" in label:
            mirror = skeleton.names.index(label.replace("left", "right"))
            np.testing.assert_allclose(skeleton.heads[mirror], skeleton.heads[joint] * [-1, 1, 1], atol=1e-9)
            assert skeleton.heads[joint][0] > 0, "left is +X"
    head = skeleton.heads[skeleton.names.index("head")]
    assert head[2] >= skeleton.heads[0][2] - 1e-6, "faces +Z"


def test_species_list_names_every_family() -> None:
    assert len(species()) >= 20
    assert {entry.family for entry in species()} == set(LEGS)
    assert all(0.01 < entry.speed < 5 for entry in species())
    assert set(ALSO.values()) <= set(SPECIES)


def test_legs_reach_the_ground(zoo: dict[str, Character]) -> None:
    """Each leg's own vertices come down to y = 0, and there are as many legs as the family says."""
    for entry in (entry for entry in species() if LEGS[entry.family]):
        character = zoo[entry.name]
        assert character.skeleton is not None
        assert character.weights is not None
        height = np.ptp(character.mesh.vertices[:, 1])
        standing = 0
        for joint in range(len(character.skeleton.names)):
            leaf = joint not in character.skeleton.parents
            own = character.weights[:, joint] > 0.5
            standing += bool(leaf and own.any() and character.mesh.vertices[own, 1].min() < 0.02 * height)
        assert standing == LEGS[entry.family], entry.name


@pytest.mark.parametrize("name", ["fox", "horse", "human", "ostrich", "spider"])
def test_moving_a_limb_leaves_the_rest_alone(name: str, zoo: dict[str, Character]) -> None:
    character = zoo[name]
    assert character.skeleton is not None
    rig, skin = Rig.from_skeleton(character.skeleton, dtype=torch.float64), Skin.from_character(character)
    skin = Skin(skin.joints, skin.weights.double())
    points = torch.from_numpy(character.mesh.vertices)
    moved = next(j for j, n in enumerate(rig.names) if "left" in n and n.endswith("upper"))
    angles = torch.zeros(len(rig.names), 3, dtype=torch.float64)
    angles[moved, 0] = np.deg2rad(60)
    posed = skin_points(blend(skin, rig, forward_kinematics(rig, rig.heads[0], angles)), points)
    travel = (posed - points).norm(dim=-1).numpy()
    # The right half of the body does not know about it.
    assert travel[character.mesh.vertices[:, 0] < -1e-9].max() < 1e-6
    assert travel.max() > 0.1 * np.ptp(character.mesh.vertices[:, 1])
    # And the skin does not tear: edges stretch by a bounded factor.
    edges = solid(character).edges_unique
    before = np.linalg.norm(np.diff(character.mesh.vertices[edges], axis=1)[:, 0], axis=-1)
    after = np.linalg.norm(np.diff(posed.numpy()[edges], axis=1)[:, 0], axis=-1)
    assert np.quantile(after / np.maximum(before, 1e-9), 0.999) < 4


def test_same_words_same_creature_other_seed_other_creature() -> None:
    first, second, other = creature("dog", seed=3), creature("dog", seed=3), creature("dog", seed=4)
    np.testing.assert_array_equal(first.mesh.vertices, second.mesh.vertices)
    np.testing.assert_array_equal(first.mesh.colors, second.mesh.colors)
    np.testing.assert_array_equal(first.weights, second.weights)
    assert first.skeleton is not None
    assert other.skeleton is not None
    assert np.abs(first.skeleton.heads - other.skeleton.heads).max() > 0.005


def test_adjectives() -> None:
    plain, small, black = (creature(words, detail="low") for words in ("a fox", "a small fox", "a black fox"))
    assert np.ptp(small.mesh.vertices[:, 1]) == pytest.approx(0.7 * np.ptp(plain.mesh.vertices[:, 1]), rel=0.03)
    assert black.mesh.colors.mean() < 0.6 * plain.mesh.colors.mean()
    legs = creature("a long-legged dog", detail="low").mesh.vertices[:, 1].max()
    assert legs > 1.15 * creature("dog", detail="low").mesh.vertices[:, 1].max()
    assert (
        creature("Tyrannosaurus", detail="low").mesh.vertices.shape
        == creature("t rex", detail="low").mesh.vertices.shape
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("a jabberwock", "nearest: rabbit"),
        ("a hosre", "did you mean horse"),
        ("a purpel cat", "did you mean purple"),
        ("", "names no creature"),
    ],
)
def test_unknown_words_are_one_line_errors(words: str, told: str) -> None:
    with pytest.raises(KinemaError, match=told) as error:
        creature(words)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("family", list(LEGS))
def test_random_creatures(family: str) -> None:
    made = [random_creature(np.random.default_rng(seed), family=family) for seed in range(6)]
    for character in made:
        check_character(character, hovers=family in HOVERING)
        assert 600 <= len(character.mesh.vertices) <= 2400
    again = random_creature(np.random.default_rng(0), family=family)
    np.testing.assert_array_equal(again.mesh.vertices, made[0].mesh.vertices)
    heights = {round(float(np.ptp(c.mesh.vertices[:, 1])), 6) for c in made}
    assert len(heights) == len(made)


@dataclass(frozen=True)
class Worm:
    """A family of one file: a row of segments on the ground."""

    length: Number
    bend: Degrees = 0
    family: str = "worm"
    speed: Speed = 0.02
    coat: Coat = field(default_factory=lambda: Coat(base=(0.8, 0.5, 0.5)))

    def build(self) -> Body:
        body, step = Body(), self.length / 4
        nodes = [np.array([0.0, 0.1 * self.length, k * step]) for k in range(5)]
        body.core = body.chain([f"segment_{k}" for k in range(3)] + ["head"], -1, nodes)
        for a, b in pairwise(nodes):
            body.blob(a, b, 0.1 * self.length, 0.1 * self.length, self.coat.base, blend=0.02 * self.length)
        return body

    def shaped(self, quality: str, factor: float) -> "Worm":
        return scaled(self, {"length": factor} if quality == "size" else {})

    def limited(self, row: "Worm") -> "Worm":
        return replace(self, bend=max(self.bend, -30.0))

    def blends_with(self, other: object) -> bool:
        return isinstance(other, Worm)


def test_a_family_of_one_file_and_one_line_is_a_creature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SPECIES, "earthworm", Worm(0.1))
    plain, big = creature("earthworm", detail="low"), creature("a big black earthworm", seed=1, detail="low")
    drawn = random_creature(np.random.default_rng(0), family="worm")
    for made in (plain, big, drawn):
        check_character(made)
    assert np.ptp(big.mesh.vertices[:, 2]) > 1.2 * np.ptp(plain.mesh.vertices[:, 2])
    assert Species("earthworm", "worm", 0.02) in species()
    # Lengths vary by a factor, angles by an addend, speeds not at all.
    rows = [vary(Worm(0.1), np.random.default_rng(seed), amount=0.1) for seed in range(50)]
    assert all(row.speed == 0.02 and row.length > 0 for row in rows)
    assert np.std([row.bend for row in rows]) == pytest.approx(40 * 0.1, rel=0.35)


def test_random_family_must_exist() -> None:
    with pytest.raises(KinemaError, match="no such family; known are biped"):
        random_creature(np.random.default_rng(0), family="plant")


def test_blob_distance_is_the_distance() -> None:
    """A round cone is the union of balls along its axis: d(x) = min over t of |x - c(t)| - r(t)."""
    rng = np.random.default_rng(1)
    blob = Blob(np.array([0.0, 0.1, -0.2]), np.array([0.3, 0.5, 0.4]), 0.2, 0.05, np.zeros(3))
    points = rng.uniform(-1, 1, (200, 3))
    t = np.linspace(0, 1, 20001)[:, None]
    centers, radii = blob.a + t * (blob.b - blob.a), 0.2 + t[:, 0] * (0.05 - 0.2)
    slow = np.array([(np.linalg.norm(point - centers, axis=-1) - radii).min() for point in points])
    np.testing.assert_allclose(blob_distance(blob, *points.T), slow, atol=1e-6)


def test_smooth_min_is_a_minimum_away_from_the_seam() -> None:
    a, b = np.linspace(-1, 1, 401), np.zeros(401)
    soft = smooth_min(a, b, 0.2)
    assert (soft <= np.minimum(a, b) + 1e-15).all()
    np.testing.assert_array_equal(soft[np.abs(a) >= 0.2], np.minimum(a, b)[np.abs(a) >= 0.2])
    # The deepest dent is width / 4, where both are equal.
    assert (np.minimum(a, b) - soft).max() == pytest.approx(0.05)


def test_vertices_lie_on_the_surface(zoo: dict[str, Character]) -> None:
    """The mesh is the zero set: the field at the vertices is small against the spacing of the grid."""
    body = SPECIES["bear"].build()
    vertices = solid(zoo["bear"]).split(only_watertight=False)
    largest = max(vertices, key=lambda part: len(part.vertices))
    edge = largest.edges_unique_length.mean()
    off = np.abs(body_distance(body, np.asarray(largest.vertices), thicken=0.0, sole=0.6 * edge))
    assert np.quantile(off, 0.95) < 0.1 * edge


def test_weights_do_not_depend_on_the_mesh(zoo: dict[str, Character]) -> None:
    """Weights are a function of the place alone, so a coarse and a fine mesh bend alike."""
    body = SPECIES["bear"].build()
    some = zoo["bear"].mesh.vertices[:500]
    assert zoo["bear"].weights is not None
    np.testing.assert_allclose(skin_weights(body, some), zoo["bear"].weights[:500], atol=1e-9)


def test_limbs_of_new_families_are_found() -> None:
    """`rig.limbs` knows what was built: words for bodies, wings and fins; random ones included."""
    bodies = {"fish": "fish", "ray": "fish", "snake": "snake", "winged": "winged", "crab": "crawler", "bird": "bird"}
    for family, word in bodies.items():
        for seed in range(2):
            limbs = find_limbs(random_creature(np.random.default_rng(seed), family=family))
            assert limbs.body == word, (family, seed)
            assert len(limbs.legs) == LEGS[family]
            assert sum(arm.wing for arm in limbs.arms) == (0 if family in ("snake", "crab") else 2)


def test_varied_rows_still_stand() -> None:
    for seed in range(5):
        row = vary(SPECIES["giraffe"], np.random.default_rng(seed), amount=0.3)
        check_character(generate("giraffe", row, detail="low"))
