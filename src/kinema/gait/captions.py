"""Captions of motions: many wordings, with and without a creature, words for speed and side where they are true."""

from collections.abc import Mapping

import numpy as np

from kinema.gait.kinds import MotionKind
from kinema.gait.make import Label
from kinema.gait.motions import MOTIONS

NOUNS = {
    "quadruped": ("dog", "fox", "wolf", "horse", "cat", "deer", "cow", "lion", "tiger", "bear", "pig", "donkey"),
    "biped": ("man", "woman", "person", "robot", "child", "knight", "dinosaur", "raptor", "cartoon character"),
    "bird": ("bird", "chicken", "ostrich", "duck", "crow", "goose"),
    "crawler": ("spider", "ant", "beetle", "insect", "crab"),
}  # fmt: skip
ALL_NOUNS = tuple(noun for group in NOUNS.values() for noun in group)
ANYTHING = ("animal", "creature", "character", "monster", "beast", "figure", "one")
SLOW = ("slowly", "leisurely", "at a slow pace", "lazily", "unhurriedly")
FAST = ("quickly", "fast", "at a fast pace", "hurriedly", "energetically", "in a hurry")


def caption(label: Label, rng: np.random.Generator, motions: Mapping[str, MotionKind] = MOTIONS) -> str:
    """One of many sentences for a motion of the table."""
    kind = motions[label.name]
    doing, does = (_sided(kind, label.side, rng, form) for form in kind.verbs[int(rng.integers(len(kind.verbs)))])
    noun = _noun(label.body, rng)
    manner = "" if "pace" in doing or "speed" in doing or "fast" in doing else _manner(kind, label, rng)
    forms = (
        (0.25, f"{noun} is {doing}{manner}"),
        (0.5, f"{noun} {doing}{manner}"),
        (0.72, f"{noun} {does}{manner}"),
        (0.87, f"{doing}{manner}"),
        (0.94, f"a video of {noun} {doing}{manner}"),
        (1.0, f"{noun} that is {doing}{manner}"),
    )
    form = rng.random()
    text = next(text for below, text in forms if form < below)
    return text[0].upper() + text[1:] + "." if rng.random() < 0.15 else text


def _sided(kind: MotionKind, side: int, rng: np.random.Generator, phrase: str) -> str:
    """Name the side in some of the phrases that have one."""
    if kind.sided and rng.random() < 0.3:
        for plain, sided in kind.sided:
            phrase = phrase.replace(plain, sided.format(side="left" if side > 0 else "right"))
    return phrase


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
    return " " + words[int(rng.integers(len(words)))] if words else ""
