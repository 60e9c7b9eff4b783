"""Words that name no species: a blend, and nonsense is refused."""

import pytest

from kinema.create.creatures import creature, read_words
from kinema.create.creatures.kin import KIN, blend, find_kin
from kinema.create.creatures.table import ALSO, SPECIES
from kinema.create.creatures.vertebrate.styles import COATS
from kinema.create.creatures.words import COLORS, SHAPES
from kinema.create.find import find_character
from kinema.errors import KinemaError
from kinema.rig.limbs import find_limbs


@pytest.mark.parametrize("word", list(KIN))
def test_every_mix_is_of_rows_that_blend(word):
    first, *others = KIN[word].shares
    assert sum(KIN[word].shares.values()) == pytest.approx(1)
    assert all(SPECIES[first].blends_with(SPECIES[name]) for name in others)
    assert set(KIN[word].adjectives) <= {*COLORS, *SHAPES, *COATS}
    assert word not in SPECIES
    assert word not in ALSO


def test_a_blend_lies_between_its_rows():
    row = blend({"zebra": 0.6, "giraffe": 0.4})
    for name in ("trunk", "leg"):
        zebra, giraffe = (getattr(SPECIES[species], name) for species in ("zebra", "giraffe"))
        assert getattr(row, name) == pytest.approx(0.6 * zebra + 0.4 * giraffe)


def test_the_output_says_what_it_is_between():
    assert read_words("an okapi").note == "okapi: between zebra 0.6 and giraffe 0.4, brown"
    with pytest.warns(UserWarning, match="okapi: between zebra 0.6 and giraffe 0.4"):
        found = find_character("an okapi")
    assert len(find_limbs(found).legs) == 4
    assert read_words("a small black wolf").note == ""


def test_adjectives_go_along():
    said = read_words("two small red goblins".removeprefix("two "))
    assert said.species == "human"
    assert said.adjectives == (*KIN["goblin"].adjectives, "small", "red")


def test_words_that_nobody_wrote_down_are_placed_by_meaning():
    for word, family in (("sorcerer", "biped"), ("ferret", "quadruped"), ("catfish", "fish"), ("pheasant", "bird")):
        found = find_kin(word)
        assert found is not None
        assert SPECIES[next(iter(found.shares))].family == family


@pytest.mark.parametrize("words", ["a teapot", "a xqzzt", "some democracy", "a keyboard", "the", "a blorf"])
def test_things_and_nonsense_are_refused_in_one_line(words):
    with pytest.raises(KinemaError, match=r"names no creature|neither") as caught:
        read_words(words)
    assert "\n" not in str(caught.value)


def test_slips_of_the_pen_are_no_new_animals():
    with pytest.raises(KinemaError, match="did you mean elephant"):
        read_words("an elefant")


@pytest.mark.parametrize("word", list(KIN))
def test_every_word_of_the_table_is_read(word):
    """A beaver was refused as a bear with a slip of the pen, a wizard as a lizard."""
    found = read_words(f"a {word}")
    assert (found.species, found.adjectives) == (next(iter(KIN[word].shares)), KIN[word].adjectives)


def test_styles_stand_before_words_of_the_table_too():
    assert read_words("a skeleton knight").adjectives == ("silver", "skeleton")
    assert read_words("a chibi").adjectives == ("chibi",)


def test_styles_and_fingers():
    person = creature("a man").skeleton
    assert person is not None
    assert {"left_clavicle", "left_thumb_3", "right_little_3"} <= set(person.names)
    # Training bodies stay as they were.
    assert "left_clavicle" not in creature("a man", detail="low").skeleton.names  # pyright: ignore
    assert read_words("a robot dog").adjectives == ("robot",)
    assert read_words("a skeleton").species == "human"
    assert read_words("a german shepherd").species == "shepherd"
