"""Sentences taken apart: the verb phrase and what is said around it."""

import pytest

from kinema.gait.match import NONE, find_matches
from kinema.gait.sentence import sequence_parts, take_apart


@pytest.mark.parametrize(
    ("text", "subject", "phrase", "core"),
    [
        ("a video of a tired fox that is slowly trotting", "a tired fox", "slowly trotting", "trotting"),
        ("A fox is dancing.", "a fox", "dancing", "dancing"),
        ("trot slowly", "", "trot slowly", "trotting"),
        ("running", "", "running", "running"),
        ("make the fox jump", "the fox", "jump", "jumping"),
        ("a flying octopus monster attacks", "a flying octopus monster", "attacks", "attacking"),
        ("the cat with white paws sneaks past", "the cat with white paws", "sneaks past", "sneaking past"),
        ("a fox starts to run", "a fox", "run", "running"),
        ("he's going to sit down on a chair", "he", "sit down on a chair", "sitting down on a chair"),
        ("the wolf has jumped over the fence", "the wolf", "jumped over the fence", "jumping over the fence"),
        ("a bird is in flight", "a bird", "in flight", "in flight"),
        ("a person is hit on the head", "a person", "hit on the head", "being hit on the head"),
        ("a galloping horse", "a horse", "galloping", "galloping"),
        ("the snake, which is very long, slithers along", "the snake", "slithers along", "slithering along"),
        ("a woman juggles three balls", "a woman", "juggles three balls", "juggling three balls"),
        ("quarterly revenue of the company fell", "quarterly revenue of the company", "fell", "falling"),
        ("the horse isn't moving", "the horse", "not moving", "not moving"),
    ],
)
def test_the_verb_phrase(text, subject, phrase, core):
    found = take_apart(text)
    assert (found.subject, found.phrase, found.core) == (subject, phrase, core)


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("a dog doesn't run", "negated"),
        ("a person who never runs", "negated"),
        ("a knight swings his sword and then dies", "sequence"),
        ("a fox walks before it sits", "sequence"),
        ("two dogs fight each other", "several"),
        ("a bear and its cub are walking", "several"),
        ("dogs are running", "several"),
        ("a pack of wolves howls", "several"),
    ],
)
def test_what_cannot_be_done_is_noticed(text, flag):
    flags = {name for name in ("negated", "sequence", "several") if getattr(take_apart(text), name)}
    assert flags == {flag}


@pytest.mark.parametrize("text", ["the horse is not moving", "she shakes the head no", "a fox with long legs walks"])
def test_what_can_be_done_is_not_flagged(text):
    found = take_apart(text)
    assert (found.negated, found.sequence, found.several) == (False, False, False)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("ein Fuchs läuft durch den Wald", "German"),
        ("un renard court dans la forêt", "French"),
        ("un zorro está corriendo", "Spanish"),
        ("una volpe sta correndo", "Italian"),
        ("uma raposa está correndo", "Portuguese"),
        ("лиса бежит", "Cyrillic"),
        ("a fox runs in a circle", "English"),
        ("die", "English"),
    ],
)
def test_languages(text, language):
    assert take_apart(text).language == language


@pytest.mark.parametrize(
    ("text", "manner", "direction"),
    [
        ("a fox trots quickly", "fast", ""),
        ("a fox trots at a leisurely pace", "slow", ""),
        ("a fox walks to the left", "", "left"),
        ("a man kicks with the left leg", "", ""),
        ("a man looks left and right", "", ""),
        ("a man walks backwards", "", "backwards"),
    ],
)
def test_manner_and_direction(text, manner, direction):
    found = take_apart(text)
    assert (found.manner, found.direction) == (manner, direction)


def test_wordings_are_found_in_any_form_and_the_longest_counts():
    def best(text: str) -> str:
        return find_matches(take_apart(text).key)[0].motion

    assert best("the horses trotted across a meadow") == "trot"
    assert best("picks the red ball up") == "pick_up"
    assert best("throws a party") == NONE
    assert best("throws a spear") == "throw"
    assert best("nodded his head") == "nod"
    assert find_matches(take_apart("a triceratops").key) == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a fox walks, then sits down", ("a fox walks", "a fox sits down")),
        ("A fox walks and then it sits down.", ("A fox walks", "a fox sits down")),
        ("walk then run, finally sit", ("walk", "run", "sit")),
        ("a dog runs and, then, the dog barks", ("a dog runs", "the dog barks")),
        ("a fox walks before sitting down", ("a fox walks", "a fox sitting down")),
        ("a fox walks, then up", ("a fox walks", "a fox up")),
        # Nothing to cut, or nothing that a cut would leave whole.
        ("a fox walks", ("a fox walks",)),
        ("a fox finally sits", ("a fox finally sits",)),
        ("Then a fox walks", ("Then a fox walks",)),
        ("a man walks to the next door", ("a man walks to the next door",)),
        ("a fox walks. It sits down.", ("a fox walks. It sits down.",)),
    ],
)
def test_a_sequence_is_cut_into_a_sentence_for_each_thing(text: str, parts: tuple[str, ...]) -> None:
    assert sequence_parts(text) == parts
