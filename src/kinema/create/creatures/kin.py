"""Words that name no species: a blend of the species that they are nearest to in meaning.

A word of `KIN` has a mix of its own. Any other is embedded (MiniLM), and a ridge regression, fitted to the species, to
other words for them, to `KIN` and to `THINGS`, gives it a share of each species and of being a thing. The shares of a
family add up to how likely it is; the blend is of the species of the likeliest one whose rows can be mixed. What is
likelier a thing, or near to nothing, is refused.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from kinema.create.creatures.proportions import Proportions
from kinema.create.creatures.table import ALSO, SPECIES
from kinema.create.creatures.variation import mix

THINGS = (
    "car", "truck", "train", "airplane", "ship", "bicycle", "house", "door", "table", "chair", "lamp", "computer",
    "phone", "book", "pen", "cup", "teapot", "knife", "sword", "hammer", "shoe", "hat", "shirt", "guitar", "piano",
    "music", "song", "tree", "flower", "grass", "leaf", "rock", "mountain", "river", "cloud", "sea", "sun", "moon",
    "banana", "apple", "bread", "pizza", "cake", "soup", "money", "democracy", "freedom", "happiness", "love", "idea",
    "science", "number", "colour", "time", "city", "country", "school", "game", "ball", "box", "bottle", "window",
    "running", "jumping", "asdf", "qwerty", "blah", "xyz", "foo", "thing", "plastic", "metal", "water", "fire",
)  # fmt: skip
"""What is no creature."""
THING = "thing"
RIDGE = 1.0
"""Weight of the squared coefficients: of 0.3 to 3 the one with the most families right, each word left out in turn."""
LEAST_SHARE = 0.37
"""Below it, no family is likely enough."""
LEAST_COSINE = 0.45
"""Below it, a word is near to none that is known: nonsense reaches 0.43."""
SHARE = 0.15
"""Least weight of a species in a blend."""
MOST = 3


@dataclass(frozen=True)
class Kin:
    """What a word is taken for."""

    shares: dict[str, float]
    """Weights of species, the largest first; they add up to one."""
    adjectives: tuple[str, ...] = ()

    def said(self, word: str) -> str:
        """One line for the user."""
        names = [f"{name} {share:.1f}" for name, share in self.shares.items()]
        first = next(iter(self.shares))
        article = "an" if first[0] in "aeio" else "a"
        between = f"between {', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else f"like {article} {first}"
        return f"{word}: {between}" + "".join(f", {adjective}" for adjective in self.adjectives)


def _read(path: Path) -> dict[str, Kin]:
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        word, _, rest = line.partition(": ")
        mixed, _, adjectives = rest.partition(" | ")
        pairs = [part.rsplit(" ", 1) for part in mixed.split(", ")]
        found[word] = Kin({name: float(share) for name, share in pairs}, tuple(adjectives.split()))
    return found


KIN = _read(Path(__file__).with_name("kin.txt"))
"""Words with a mix of species and adjectives of their own."""


def find_kin(word: str, *, without: str | None = None) -> Kin | None:
    """What a word is taken for, None if it is near to no creature; `without` leaves an anchor out, as if unknown."""
    if word in KIN and word != without:
        return KIN[word]
    cosines = {anchor: value for anchor, value in _cosines(word).items() if anchor != without}
    if max(value for anchor, value in cosines.items() if anchor not in THINGS) < LEAST_COSINE:
        return None
    shares = _regressed(word, without)
    families: dict[str, float] = defaultdict(float)
    for name, share in shares.items():
        families[SPECIES[name].family if name in SPECIES else name] += share
    family = max(families, key=lambda one: families[one])
    if family == THING or families[family] < LEAST_SHARE:
        return None
    ranked = sorted((name for name in shares if name in SPECIES and SPECIES[name].family == family),
                    key=lambda name: -shares[name])  # fmt: skip
    row = SPECIES[ranked[0]]
    kept = [name for name in ranked if name == ranked[0] or row.blends_with(SPECIES[name])][:MOST]
    kept = [name for name in kept if shares[name] >= SHARE * sum(max(shares[one], 0.0) for one in kept)]
    total = sum(shares[name] for name in kept)
    return Kin({name: shares[name] / total for name in kept})


def nearest_names(word: str, count: int = 3) -> list[str]:
    """Species that a word is nearest to, for those who have to choose another."""
    best: dict[str, float] = {}
    for anchor, value in _cosines(word).items():
        if anchor not in THINGS:
            name = next(iter(_meaning(anchor).shares))
            best[name] = max(best.get(name, -1.0), value)
    return sorted(best, key=lambda name: -best[name])[:count]


def blend(shares: Mapping[str, float]) -> Proportions:
    """The mean of species' rows, weighted; what cannot be averaged is the first one's."""
    (first, total), *others = shares.items()
    row = SPECIES[first]
    for name, share in others:
        total += share
        row = mix(row, SPECIES[name], share / total, None)
    return row.limited(SPECIES[first])


def _meaning(anchor: str) -> Kin:
    return KIN.get(anchor) or Kin({ALSO.get(anchor, anchor): 1.0})


def _cosines(word: str) -> dict[str, float]:
    """Cosine of the word with each anchor."""
    from kinema.learn.text import embed_texts

    anchors, plain, _ = _embedded()
    return dict(zip(anchors, (plain @ embed_texts([word])[0].numpy()).tolist(), strict=True))


def _regressed(word: str, without: str | None) -> dict[str, float]:
    """The regression's share of each species, and of `THING`."""
    from kinema.learn.text import embed_texts

    anchors, _, spoken = _embedded()
    kept = [i for i, anchor in enumerate(anchors) if anchor != without]
    names = [*SPECIES, THING]
    targets = np.zeros((len(kept), len(names)))
    for row, i in enumerate(kept):
        of = {THING: 1.0} if anchors[i] in THINGS else _meaning(anchors[i]).shares
        targets[row, [names.index(name) for name in of]] = list(of.values())
    middle = spoken[kept].mean(0)
    known, asked = (_centred(x, middle) for x in (spoken[kept], embed_texts([f"a {word}"]).double().numpy()))
    dual = np.linalg.solve(known @ known.T + RIDGE * np.eye(len(kept)), targets)
    return dict(zip(names, (asked @ known.T @ dual)[0].tolist(), strict=True))


def _centred(embedded: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Directions from the middle of all, and a constant for the offset."""
    away = embedded - middle
    return np.pad(away / np.linalg.norm(away, axis=-1, keepdims=True), ((0, 0), (0, 1)), constant_values=0.3)


@cache
def _embedded() -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """All anchors, as words and in a phrase."""
    from kinema.learn.text import embed_texts

    # An adjective alone ("a chibi") is understood, but no other word is like it: nonsense was.
    words = (*SPECIES, *ALSO, *(word for word, kin in KIN.items() if word not in kin.adjectives), *THINGS)
    return words, embed_texts(list(words)).numpy(), embed_texts([f"a {word}" for word in words]).double().numpy()
