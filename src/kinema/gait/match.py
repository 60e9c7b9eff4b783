"""Wordings of the vocabulary that a verb phrase contains word by word, in any form of the verb."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from kinema.gait import function_words as fw
from kinema.gait.sentence import make_key
from kinema.gait.vocabulary import vocabulary


@dataclass(frozen=True)
class Match:
    """A wording whose words stand in a phrase in this order, beginning with its first."""

    motion: str
    length: int
    """Number of its words."""
    left_over: int
    """Words of the phrase that neither the wording nor a place ("across the field") explains."""
    places: int
    """Words of the phrase that only tell a place or a manner."""


@cache
def _wordings() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Keys of all wordings with their motion, by their first word.

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
    table: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for key in {**short, **full}:
        for motion in sorted(full.get(key) or short[key]):
            table[key[0]].append((key, motion))
    return table


def find_matches(key: tuple[str, ...], motions: Collection[str] | None = None) -> list[Match]:
    """Wordings in a phrase, the longest first; of the motions given, or of all."""
    found: dict[str, Match] = {}
    for wording, motion in _wordings().get(key[0], ()) if key else ():
        places = _subsequence(wording, key)
        if places is None or (motions is not None and motion not in motions):
            continue
        left, where = _left_over(key, places)
        match = Match(motion, len(wording), left, where)
        best = found.get(motion)
        if best is None or (match.length, -match.left_over) > (best.length, -best.left_over):
            found[motion] = match
    return sorted(found.values(), key=lambda match: (-match.length, match.left_over, match.motion))


def _subsequence(short: tuple[str, ...], long: tuple[str, ...]) -> list[int] | None:
    """Where the words of `short` stand in `long`, in order; None if one is missing."""
    places, start = [], 0
    for word in short:
        if word not in long[start:]:
            return None
        start = long.index(word, start) + 1
        places.append(start - 1)
    return places


def _left_over(key: tuple[str, ...], explained: list[int]) -> tuple[int, int]:
    left, where, in_place = 0, 0, False
    for index, word in enumerate(key):
        if index in explained:
            in_place = False
        elif word in fw.PREPOSITIONS or in_place or (word.endswith("ly") and word not in fw.NOT_ADVERBS):
            in_place = in_place or word in fw.PREPOSITIONS
            where += 1
        else:
            left += 1
    return left, where
