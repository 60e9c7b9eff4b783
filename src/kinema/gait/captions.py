"""Captions of motions: verb phrases of the vocabulary, with words for speed and side where they are true.

A wording has no subject: nouns dominate sentence embeddings, and the picture shows the body anyway.
"""

import re
from collections.abc import Mapping

import numpy as np

from kinema.gait.kinds import MotionKind
from kinema.gait.make import Label
from kinema.gait.motions import MOTIONS
from kinema.gait.vocabulary import Wording, body_kind, vocabulary

NOUNS = {
    "quadruped": ("dog", "fox", "wolf", "horse", "cat", "deer", "cow", "lion", "tiger", "bear", "pig", "donkey"),
    "upright": ("man", "woman", "person", "robot", "child", "knight", "dinosaur", "raptor", "cartoon character"),
    "bird": ("bird", "chicken", "ostrich", "duck", "crow", "goose"),
    "crawler": ("spider", "ant", "beetle", "insect", "crab"),
    "fish": ("fish", "shark", "goldfish", "whale"),
    "snake": ("snake", "cobra", "python"),
    "winged": ("dragon", "bat", "griffin"),
}  # fmt: skip
ALL_NOUNS = tuple(noun for group in NOUNS.values() for noun in group)
ANYTHING = ("animal", "creature", "character", "monster", "beast", "figure", "one")
SLOW = ("slowly", "leisurely", "at a slow pace", "lazily", "unhurriedly")
FAST = ("quickly", "fast", "at a fast pace", "hurriedly", "energetically", "in a hurry")
OWN_WORDING = 0.4
"""Share of the wordings of a recorded clip that are its own caption."""
HASTE = re.compile(r"\b(slowly|fast|quickly|swiftly|rapidly|hurriedly|calmly|lazily|leisurely)\b")
TELLS_PACE = re.compile(r"\b(pace|speed|fast|slow|slowly|quick|quickly|briskly|hurry|easy|steady|leisurely)\b")


def wording(label: Label, rng: np.random.Generator, motions: Mapping[str, MotionKind] = MOTIONS) -> str:
    """A verb phrase for a motion, without a subject: "trotting along slowly", "lunges forward and bites"."""
    kind = motions.get(label.name)
    if label.wording and rng.random() < OWN_WORDING:
        return label.wording
    phrase = _phrase(label, kind, rng)
    text = phrase.doing if rng.random() < 0.7 else phrase.does
    if body_kind(label.body) == "upright":
        text = re.sub(r"\bits\b", ("its", "the", "his", "her")[int(rng.integers(4))], text)
    manner = "" if kind is None or TELLS_PACE.search(text) else _manner(kind, label, rng)
    if manner.endswith("ly") and rng.random() < 0.3:
        return f"{manner} {text}"
    return f"{text} {manner}".strip()


def caption(label: Label, rng: np.random.Generator, motions: Mapping[str, MotionKind] = MOTIONS) -> str:
    """A sentence for a motion, mostly with a creature that does it."""
    noun, words = _noun(body_kind(label.body), rng), wording(label, rng, motions)
    first = words.split()[1 if words.split()[0].endswith("ly") else 0]
    doing = first.endswith("ing") or first in ("in", "on", "at", "not", "asleep", "motionless", "behind")
    forms = (
        (0.25, f"{noun} is {words}" if doing else f"{noun} {words}"),
        (0.72, f"{noun} {words}"),
        (0.87, words),
        (0.94, f"a video of {noun} {words}" if doing else f"a video of {noun} that {words}"),
        (1.0, f"{noun} that is {words}" if doing else f"{noun} that {words}"),
    )
    form = rng.random()
    text = next(text for below, text in forms if form < below)
    return text[0].upper() + text[1:] + "." if rng.random() < 0.15 else text


def _phrase(label: Label, kind: MotionKind | None, rng: np.random.Generator) -> Wording:
    """One of the wordings; some of those that can name the side do."""
    if kind is not None and (kind is not MOTIONS.get(label.name) or label.name not in vocabulary()):
        # A row that is not in the tables brings its own words.
        return Wording("", *kind.verbs[int(rng.integers(len(kind.verbs)))])
    words = vocabulary()[label.name]
    if words.sided and rng.random() < 0.2:
        side = "left" if label.side > 0 else "right"
        phrase = words.sided[int(rng.integers(len(words.sided)))]
        return Wording(*(text.format(side=side) for text in (phrase.base, phrase.doing, phrase.does)))
    # Words of pace are only said where they are true (`_manner`).
    fitting = [each for each in words.wordings if not (kind and kind.gait and HASTE.search(each.doing))]
    return fitting[int(rng.integers(len(fitting)))]


def _noun(body: str, rng: np.random.Generator) -> str:
    """A noun that fits the body, any other (it must not matter), or a word for anything."""
    draw = rng.random()
    choices = ANYTHING if draw < 0.25 else NOUNS.get(body, ALL_NOUNS) if draw < 0.75 else ALL_NOUNS
    noun = choices[int(rng.integers(len(choices)))]
    if noun == "one":
        return "it"
    article = ("the", "an" if noun[0] in "aeiou" else "a")[int(rng.random() < 0.75)]
    return f"{article} {noun}"


def _manner(kind: MotionKind, label: Label, rng: np.random.Generator) -> str:
    """A word for slow or fast, told by the stride compared with the usual one of the gait."""
    if label.period <= 0 or kind.gait is None or not kind.tells_haste or rng.random() < 0.4:
        return ""
    stride = label.speed * label.period / kind.gait.stride
    words = SLOW if stride < 0.87 else FAST if stride > 1.13 else None
    return words[int(rng.integers(len(words)))] if words else ""
