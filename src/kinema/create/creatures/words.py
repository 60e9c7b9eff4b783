"""From words to a creature: species, colour and size."""

import difflib
import re
from dataclasses import dataclass, replace

import numpy as np

from kinema.asset.character import Character
from kinema.create.creatures.body import Number, Rgb
from kinema.create.creatures.generate import Detail, generate
from kinema.create.creatures.kin import KIN, blend, find_kin, nearest_names
from kinema.create.creatures.proportions import Coat, Proportions
from kinema.create.creatures.table import ALSO, FAMILY_SHARES, SPECIES
from kinema.create.creatures.variation import mix, random_coat, shade_coat, vary
from kinema.create.creatures.vertebrate.styles import COATS, in_random_style, styled, with_fingers
from kinema.errors import KinemaError

COLORS: dict[str, Rgb] = {
    "red": (0.78, 0.22, 0.14), "orange": (0.90, 0.50, 0.15), "yellow": (0.92, 0.80, 0.25), "golden": (0.85, 0.65, 0.30),
    "green": (0.36, 0.62, 0.28), "blue": (0.25, 0.42, 0.75), "purple": (0.50, 0.28, 0.62), "pink": (0.93, 0.60, 0.68),
    "brown": (0.43, 0.28, 0.18), "black": (0.11, 0.11, 0.12), "white": (0.94, 0.93, 0.91), "grey": (0.52, 0.52, 0.53),
    "gray": (0.52, 0.52, 0.53), "silver": (0.70, 0.72, 0.75), "cream": (0.92, 0.85, 0.70), "dark": (0.20, 0.17, 0.16),
}  # fmt: skip
SHAPES: dict[str, tuple[str, float]] = {
    "small": ("size", 0.7), "tiny": ("size", 0.45), "big": ("size", 1.4), "large": ("size", 1.4), "huge": ("size", 2.0),
    "giant": ("size", 3.0), "baby": ("youth", 0.5), "young": ("youth", 0.5), "long-legged": ("leg", 1.35),
    "short-legged": ("leg", 0.7), "tall": ("leg", 1.2), "fat": ("girth", 1.22), "thick": ("girth", 1.22),
    "thin": ("girth", 0.85), "slim": ("girth", 0.85), "long-necked": ("neck", 1.6), "long-tailed": ("tail", 1.5),
    "short-tailed": ("tail", 0.5), "chibi": ("toy", 1.0),
}  # fmt: skip
"""Adjectives of shape: the quality and the factor that a row's `shaped` takes."""
STYLES = tuple(COATS)
"""Styles of a body, which are named before it: a robot dog."""
FILLERS = {"a", "an", "the", "one", "my", "of", "and", "with", "very", "cute", "little", "old", "walking", "standing"}


@dataclass(frozen=True)
class Species:
    """Name, family and typical walk [m/s] of a built-in species."""

    name: str
    family: str
    speed: Number


def species() -> tuple[Species, ...]:
    """All built-in species."""
    return tuple(Species(name, row.family, row.speed) for name, row in SPECIES.items())


def creature(words: str, *, seed: int | None = None, detail: Detail = "full") -> Character:
    """The creature that the words name, at natural size: `creature("a small black fox")`.

    A seed draws an individual with its own proportions; None is the table's row itself. "full" detail is 2-8k
    vertices, "low" about a thousand.
    """
    named = read_words(words)
    name, row = named.species, named.row
    if detail == "full":
        row = with_fingers(row)
    if seed is not None:
        rng = np.random.default_rng(seed)
        row = replace(vary(row, rng, amount=0.07), coat=shade_coat(row.coat, rng))
    for token in named.adjectives:
        if token in COLORS:
            row = replace(row, coat=_colored(row.coat, COLORS[token], species=name, token=token))
        else:
            row = styled(row, token) if token in STYLES else row.shaped(*SHAPES[token])
    return generate(words.strip(), row, seed=seed or 0, detail=detail)


@dataclass(frozen=True)
class Named:
    """What words say about a creature."""

    species: str
    """The species, or the first of several."""
    row: Proportions
    adjectives: tuple[str, ...]
    """Colours, shapes and styles, in their order."""
    note: str = ""
    """Of which species a word that names none is a blend; one line for the user."""


def read_words(words: str) -> Named:
    """The species that words name, or the blend of species that is nearest in meaning, and the adjectives before it."""
    tokens = re.findall(r"[a-z]+(?:-[a-z]+)*", words.lower())
    found = _find_species(tokens)
    if found is not None:
        name, used = found
        adjectives = []
        for token in tokens:
            if token in (*COLORS, *SHAPES) or (token in STYLES and token not in used):
                adjectives.append(token)
            elif token not in used and token not in FILLERS:
                close = difflib.get_close_matches(token, [*COLORS, *SHAPES], n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise KinemaError(f"{words!r}: {token!r} is neither a colour nor a shape{hint}")
        return Named(name, SPECIES[name], tuple(adjectives))
    said = _kin_word(tokens)
    used = {*FILLERS, *(said or "").split(), *(f"{token}s" for token in (said or "").split())}
    adjectives = tuple(token for token in tokens if token in (*COLORS, *SHAPES, *STYLES) and token not in used)
    left = [token for token in tokens if token not in (*adjectives, *used)]
    if said is not None and left:
        raise KinemaError(f"{words!r}: {left[0]!r} is neither a colour nor a shape")
    word = said or " ".join(left)
    close = difflib.get_close_matches(word, [*SPECIES, *ALSO], n=1, cutoff=0.75)
    if close and said is None:
        # A slip of the pen is no new animal, but a beaver is no bear either.
        raise KinemaError(f"{words!r} names no built-in creature; did you mean {close[0]}?")
    kin = find_kin(word) if word else None
    if kin is None:
        # In a short word one slip is much of it.
        close = difflib.get_close_matches(word, [*SPECIES, *ALSO], n=1) if len(word) <= 4 else []
        near = (
            f"; did you mean {close[0]}?" if close else f"; nearest: {', '.join(nearest_names(word))}" if word else ""
        )
        raise KinemaError(f"{words!r}: names no creature that is known or alike to one{near} (kinema create lists all)")
    return Named(next(iter(kin.shares)), blend(kin.shares), (*kin.adjectives, *adjectives), kin.said(word))


def random_creature(
    rng: np.random.Generator, *, family: str | None = None, detail: Detail = "low", amount: float = 0.22
) -> Character:
    """A creature that is in no table: two rows (of one family, if given) blended, every proportion shaken, new colours.

    `amount` is the standard deviation of the logarithm of each length.
    """
    rows = {name: row for name, row in SPECIES.items() if family is None or row.family == family}
    if not rows:
        known = ", ".join(sorted({row.family for row in SPECIES.values()}))
        raise KinemaError(f"{family}: no such family; known are {known}")
    families = [row.family for row in rows.values()]
    share = np.array([FAMILY_SHARES.get(one, 1.0) / families.count(one) for one in families])
    name, row = list(rows.items())[int(rng.choice(len(rows), p=share / share.sum()))]
    others = [other for other in rows.values() if other is not row and row.blends_with(other)]
    if others:
        row = mix(row, others[int(rng.integers(len(others)))], rng.uniform(0, 0.6), rng)
    row = in_random_style(vary(row, rng, amount=amount), rng)
    row = replace(row, coat=random_coat(row.coat, rng))
    return generate(f"random {name}", row, seed=int(rng.integers(2**31)), detail=detail)


def _kin_word(tokens: list[str]) -> str | None:
    """The word of `KIN` that stands last, which is what a creature is: a boar is no bear, a guinea pig no pig."""
    spaced = " ".join(tokens).replace("-", " ")
    return max((word for word in KIN if re.search(rf"\b{word}s?$", spaced)), key=len, default=None)


def _find_species(tokens: list[str]) -> tuple[str, set[str]] | None:
    """The last species named, and the words that named it."""
    spaced, known = " ".join(tokens).replace("-", " "), {**{name: name for name in SPECIES}, **ALSO}
    matches = [(re.search(rf"\b{name}s?\b", spaced), len(name), target) for name, target in known.items()]
    found = [(match.end(), length, match.group(), target) for match, length, target in matches if match]
    if not found or _kin_word(tokens) is not None:
        return None
    *_, said, target = max(found, key=lambda one: one[:2])
    return target, {*said.split(), *(token for token in tokens if token.replace("-", " ") == said)}


def _colored(coat: Coat, rgb: Rgb, *, species: str, token: str) -> Coat:
    """Another main colour; a fox that is called red stays the red fox of the table."""
    if token in ("red", "orange") and species == "fox":
        return coat
    ear = None if coat.ear is None else (0.6 * rgb[0], 0.6 * rgb[1], 0.6 * rgb[2])
    coat = replace(coat, base=rgb, ear=ear)
    plain = token in ("white", "black") and species != "human"
    return replace(coat, legs=None, belly=None, pattern="plain") if plain else coat
