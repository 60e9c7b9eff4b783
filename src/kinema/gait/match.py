"""Wordings of the vocabulary that a verb phrase contains word by word, in any form of the verb."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from kinema.gait import function_words as fw
from kinema.gait.lexicon import outside_phrases
from kinema.gait.sentence import make_key
from kinema.gait.vocabulary import inflect, vocabulary

ANYTHING = frozenset(("something", "someone", "enemy", "opponent", "prey"))
"""Words of wordings that stand for any thing or character."""
NOUN_VERBS = frozenset(("do", "give", "make", "perform", "have", "let", "execute", "throw", "land", "deliver"))
"""Verbs that take the name of a motion: "does a backflip", "lets out a roar"."""
NONE = "none"
"""Stands for everything outside the vocabulary."""


@dataclass(frozen=True)
class Match:
    """A wording whose words stand in a phrase in this order, beginning with its first."""

    motion: str
    length: float
    """Number of its words; "something" counts half."""
    left_over: int
    """Words of the phrase that neither the wording nor a place ("across the field") explains."""
    places: int
    """Words of the phrase that only tell a place or a manner."""
    open: bool
    """It holds for any thing: "throw something"."""


@cache
def _wordings() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Keys of all wordings with their motion, and of the phrases outside the vocabulary, by their first word.

    Without its words of pace "swim fast" would be "swim": a key that is shortened so belongs to the motion that has it
    unshortened."""
    full: dict[tuple[str, ...], set[str]] = defaultdict(set)
    short: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for motion, words in vocabulary().items():
        for each in (*words.wordings, *words.sided):
            text = each.doing.replace("{side} ", "").replace("{side}", "left")
            key = make_key(text.lower())
            whole = len(key) == len([w for w in text.split() if w not in fw.DETERMINERS | fw.BE])
            (full if whole else short)[key].add(motion)
    for phrase in outside_phrases():
        full[make_key(inflect(phrase).doing.lower())].add(NONE)
    table: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for key in {**short, **full}:
        for motion in sorted(full.get(key) or short[key]):
            table[key[0]].append((key, motion))
    return table


def find_matches(key: tuple[str, ...], motions: Collection[str] | None = None, *, besides: bool = False) -> list[Match]:
    """Wordings in a phrase, the longest first.

    Args:
        motions: look for these only.
        besides: leave out wordings that are the phrase itself.
    """
    found: dict[str, Match] = {}
    for each in (key, _of_noun(key)):
        for wording, motion in _wordings().get(each[0], ()) if each else ():
            places = _subsequence(wording, each)
            if places is None or (motions is not None and motion not in motions) or (besides and wording == each):
                continue
            left, where = _left_over(each, places)
            open_words = sum(word in ANYTHING for word in wording)
            where = where if each is key else max(where, 1)
            match = Match(motion, len(wording) - 0.5 * open_words, left, where, open_words > 0 and wording != each)
            best = found.get(motion)
            if best is None or (match.length, -match.left_over) > (best.length, -best.left_over):
                found[motion] = match
    return sorted(found.values(), key=lambda match: (-match.length, match.left_over, match.motion))


def _of_noun(key: tuple[str, ...]) -> tuple[str, ...]:
    """The verb that a noun stands for, and what follows: "gives the door a kick" is a kick; empty if none does."""
    if not key or key[0] not in NOUN_VERBS:
        return ()
    end = next((i for i, word in enumerate(key) if i and word in fw.PREPOSITIONS - {"out"}), len(key))
    noun = key[end - 1]
    alone = any(len(wording) == 1 and motion != NONE for wording, motion in _wordings().get(noun, ()))
    return (noun, *key[end:]) if 2 <= end <= 4 and alone else ()


def _subsequence(short: tuple[str, ...], long: tuple[str, ...]) -> list[int] | None:
    """Where the words of `short` stand in `long`, in order; None if one is missing.

    "something" and "someone" stand for whatever is named there."""
    places: list[int] = []
    start = 0
    for word in short:
        if word in ANYTHING:
            named = start
            while named < len(long) and long[named] not in fw.PREPOSITIONS | fw.WHERE:
                named += 1
            if named == start:
                return None
            places += range(start, named)
            start = named
        elif word in long[start:]:
            start = long.index(word, start) + 1
            places.append(start - 1)
        else:
            return None
    return places


def _left_over(key: tuple[str, ...], explained: list[int]) -> tuple[int, int]:
    left, where, in_place = 0, 0, False
    for index, word in enumerate(key):
        if index in explained:
            in_place = False
        elif word in fw.PREPOSITIONS | fw.WHERE or in_place or (word.endswith("ly") and word not in fw.NOT_ADVERBS):
            in_place = in_place or word in fw.PREPOSITIONS
            where += 1
        else:
            left += 1
    return left, where
