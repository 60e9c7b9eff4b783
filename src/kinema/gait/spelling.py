"""Misspelled verbs ("a dog runing", "the man wlaks") and words that are none ("the fox frobnicates")."""

import re
from collections.abc import Callable
from string import ascii_lowercase

from kinema.gait.function_words import DETERMINERS
from kinema.gait.lexicon import lemma, verb_forms

LEAST_LETTERS = 5


def mend(text: str, is_word: Callable[[str], bool]) -> str:
    """Replace words that nobody knows by the one verb form that is a letter away.

    Args:
        is_word: tells a word of the language from a misspelled one.
    """
    before = ""
    mended: list[str] = []
    for part in re.split(r"([A-Za-z]+)", text):
        noun = before in DETERMINERS and not part.endswith("ing")
        mended.append(part if noun or len(part) < LEAST_LETTERS else _mended(part, is_word))
        before = part.lower() if part.isalpha() else before
    return "".join(mended)


def is_made_up(verb: str, is_word: Callable[[str], bool]) -> bool:
    """True for a verb that is no word in any form, nor two in one ("cartwheeling"), nor a letter away from a verb.

    An encoder reads it in pieces, so what it is near to means nothing.
    """

    def known(word: str) -> bool:
        return any(map(is_word, _stems(word))) or not verb_forms().keys().isdisjoint({word} | _one_edit(word))

    def joined(word: str) -> bool:
        return any(is_word(word[:i]) and known(word[i:]) for i in range(3, len(word) - 3))

    return any(part.isalpha() and not known(part) and not joined(part) for part in verb.split("-"))


def _stems(word: str) -> set[str]:
    """The word and what may stand before its ending: wheel, wheele and wheeling."""
    cuts = [word.removesuffix(ending) for ending in ("ing", "ed", "es", "s", "d") if word.endswith(ending)]
    cuts = [cut for cut in cuts if len(cut) > 2]
    doubled = {cut[:-1] for cut in cuts if cut[-1] == cut[-2]}
    return {word, *cuts, *(cut + "e" for cut in cuts), *(cut[:-1] + "y" for cut in cuts if cut[-1] == "i"), *doubled}


def _mended(word: str, is_word: Callable[[str], bool]) -> str:
    low = word.lower()
    if not word.isalpha() or low in verb_forms() or is_word(low):
        return word
    near = [form for form in _one_edit(low) & verb_forms().keys() if form[0] == low[0]]
    return min(near) if len({lemma(form) for form in near}) == 1 else word


def _one_edit(word: str) -> set[str]:
    """All strings that one letter more, less, changed or swapped with its neighbour makes of a word."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    less = {a + b[1:] for a, b in cuts if b}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    changed = {a + letter + b[1:] for a, b in cuts if b for letter in ascii_lowercase}
    more = {a + letter + b for a, b in cuts for letter in ascii_lowercase}
    return less | swapped | changed | more
