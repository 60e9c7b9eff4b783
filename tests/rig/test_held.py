"""What hands hold is left out of pictures and simulation, and bodies lose nothing."""

from dataclasses import replace

import numpy as np
import pytest

from kinema.asset.character import Character
from kinema.create.creatures import creature
from kinema.rig.anatomy import Anatomy
from kinema.rig.held import without_held
from kinema.rig.limbs import find_limbs


def with_lance(person: Character) -> Character:
    """A thin triangle of twice the body's height that moves with the left hand."""
    assert person.skeleton is not None
    assert person.weights is not None
    hand = find_limbs(person).arms[0].joints[-1]
    at, mesh, count = person.skeleton.heads[hand], person.mesh, len(person.mesh.vertices)
    lance = at + np.array([[0.0, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 4.0]])
    weights = np.zeros((3, person.weights.shape[1]), dtype=person.weights.dtype)
    weights[:, hand] = 1.0
    longer = replace(
        mesh,
        vertices=np.concatenate((mesh.vertices, lance)),
        colors=np.concatenate((mesh.colors, np.ones((3, 3)))),
        faces=np.concatenate((mesh.faces, [[count, count + 1, count + 2]])),
    )
    return replace(person, mesh=longer, weights=np.concatenate((person.weights, weights)))


def test_a_lance_is_left_out_and_the_hand_stays() -> None:
    person = creature("a person", detail="low")
    armed = with_lance(person)
    bare = without_held(armed, find_limbs(person))
    np.testing.assert_array_equal(bare.mesh.faces, person.mesh.faces)


@pytest.mark.parametrize("words", ["a person", "a chibi person", "a robot", "a fox", "a crow", "a t rex", "a crab"])
def test_bodies_lose_nothing(words: str) -> None:
    body = creature(words, detail="low")
    assert without_held(body, find_limbs(body)) is body


def test_what_hands_hold_has_no_mass_and_touches_no_ground() -> None:
    person = creature("a person", detail="low")
    bare, armed = Anatomy.of(person).cuboids, Anatomy.of(with_lance(person)).cuboids
    np.testing.assert_allclose(armed.volumes, bare.volumes, rtol=1e-6)
    np.testing.assert_allclose(armed.half_sizes, bare.half_sizes, atol=1e-6)
