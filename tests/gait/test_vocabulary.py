import numpy as np
import pytest

from kinema.errors import KinemaError
from kinema.gait.captions import wording
from kinema.gait.inflection import forms
from kinema.gait.make import Label
from kinema.gait.motions import MOTIONS
from kinema.gait.vocabulary import BODIES, HURRIED, VARIANTS, inflect, motions_of, on_body, parse, vocabulary


@pytest.mark.parametrize(
    ("body", "least"),
    [("upright", 60), ("quadruped", 30), ("bird", 8), ("crawler", 5), ("fish", 5), ("snake", 5), ("winged", 5)],
)
def test_every_kind_of_body_has_its_motions(body, least):
    assert len(motions_of(body)) >= least


def test_every_motion_of_the_tables_has_words():
    variants = {name for names in VARIANTS.values() for name in names} | set(HURRIED.values())
    assert set(MOTIONS) <= set(vocabulary()) | variants
    for words in vocabulary().values():
        assert len({each.base for each in words.wordings}) >= 10, words.name
        assert set(words.bodies) <= set(BODIES)


def test_no_wording_has_two_meanings_on_one_body():
    for body in BODIES:
        seen: dict[str, str] = {}
        for name in motions_of(body):
            for phrase in {each.base for each in vocabulary()[name].wordings}:
                assert seen.setdefault(phrase, name) == name, f"{phrase!r} on {body}"


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("trot", ("trot", "trotting", "trots", "trotted")),
        ("lie", ("lie", "lying", "lies", "lay", "lain")),
        ("flee", ("flee", "fleeing", "flees", "fled")),
        ("march", ("march", "marching", "marches", "marched")),
        ("fly", ("fly", "flying", "flies", "flew", "flown")),
        ("goose-step", ("goose-step", "goose-stepping", "goose-steps", "goose-stepped")),
        ("frolic", ("frolic", "frolicking", "frolics", "frolicked")),
    ],
)
def test_forms_of_verbs(verb, expected):
    assert forms(verb) == expected


@pytest.mark.parametrize(
    ("phrase", "doing", "does"),
    [
        ("lunge forward and ~bite", "lunging forward and biting", "lunges forward and bites"),
        ("be in flight", "in flight", "is in flight"),
        ("be hit and ~stagger", "being hit and staggering", "is hit and staggers"),
        ("do not move", "not moving", "does not move"),
    ],
)
def test_forms_of_phrases(phrase, doing, does):
    assert (inflect(phrase).doing, inflect(phrase).does) == (doing, does)


def test_bodies_do_things_in_their_own_way():
    assert on_body("crawl", "crawler") == "walk"
    assert on_body("crawl", "snake") == "slither"
    assert on_body("crawl", "biped") == "crawl"
    assert on_body("walk", "fish") is None


def test_wordings_have_no_subject_and_name_the_true_side():
    rng = np.random.default_rng(0)
    said = {wording(Label("wave", False, 0.0, 1.0, 0.0, "biped", -1), rng) for _ in range(300)}
    assert "waves the right hand" in said
    assert not any("left" in text for text in said)
    own = Label("bite", False, 0.0, 1.0, 0.0, "quadruped", 1, "snaps at a fly")
    share = np.mean([wording(own, rng) == "snaps at a fly" for _ in range(500)])
    assert 0.3 < share < 0.5


def test_a_mistake_in_a_thesaurus_is_named():
    with pytest.raises(KinemaError, match="'walk: horse'"):
        parse("walk: horse\n    walk\n")
