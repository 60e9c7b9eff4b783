"""Verbs with one wrong letter are mended; nouns and words of the language are left alone."""

import pytest

from kinema.gait.spelling import is_made_up, mend

WORDS = {"horse", "goblin", "woman", "street", "talking"}


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("jumpng", "jumping"),
        ("the man wlaks", "the man walks"),
        ("a goblin is danceing", "a goblin is dancing"),
        ("a hosre trotts", "a hosre trots"),  # after an article it is no verb
        ("a woman is talking", "a woman is talking"),
        ("xyzzyx", "xyzzyx"),
    ],
)
def test_a_verb_with_one_wrong_letter_is_mended(text, mended):
    assert mend(text, WORDS.__contains__) == mended


@pytest.mark.parametrize("verb", ["frobnicating", "frobnicates", "zorbling", "street-zorbling"])
def test_a_verb_that_is_no_word_is_told(verb):
    assert is_made_up(verb, WORDS.__contains__)


@pytest.mark.parametrize("verb", ["trotting", "trottng", "streeted", "streetwalking", "goblin-talking"])
def test_forms_compounds_and_misspelled_verbs_are_words(verb):
    assert not is_made_up(verb, WORDS.__contains__)
