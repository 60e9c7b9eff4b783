"""Verbs with one wrong letter are mended; nouns and words of the language are left alone."""

import pytest

from kinema.gait.spelling import mend

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
