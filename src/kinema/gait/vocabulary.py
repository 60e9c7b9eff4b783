"""The vocabulary: every motion that has a name, the kinds of body that can do it, and what people call it.

The words are data, in `thesaurus.txt`. A motion of this table is made by a row of `motions.py` or shown by recorded
clips, or both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kinema.errors import KinemaError
from kinema.gait.inflection import participle, third_person

THESAURUS = Path(__file__).with_name("thesaurus.txt")
BODIES = ("upright", "quadruped", "bird", "crawler", "fish", "snake", "winged", "other")
"""Kinds of body."""
UPRIGHT = ("biped",)
"""What `Limbs.body` calls an upright body."""
FORMS = (participle, third_person)
PASSIVES = ("hit", "struck", "killed", "knocked", "punched", "defeated", "mortally")
"""What is done to a body: "be hit" is "being hit", while "be in flight" is "in flight"."""
ALSO = {
    "bird": {"pace": "walk", "jog": "run", "trot": "run", "canter": "run", "gallop": "run", "crawl": "walk",
             "march": "walk", "claw": "attack", "headbutt": "attack", "sit_chair": "sit",
             "swim_fast": "swim"},
    "crawler": {"crawl": "walk", "jog": "run", "pace": "walk", "trot": "run", "gallop": "run", "climb": "walk",
                "march": "walk", "flap": "fly", "glide": "fly"},
    "fish": {"glide": "swim", "stand": "float", "slither": "swim"},
    "other": {"crawl": "walk", "jog": "run", "slither": "walk", "glide": "fly", "flap": "fly"},
    "quadruped": {"jog": "trot", "sit_chair": "sit", "stand_up": "get_up", "march": "walk", "stagger": "limp",
                  "swim_fast": "swim", "peck": "eat", "guard": "stand", "punch": "claw", "carry": "pick_up"},
    "snake": {"crawl": "slither", "sneak": "slither", "glide": "slither", "sit": "coil"},
    "upright": {"pace": "walk", "trot": "jog", "canter": "run", "gallop": "run", "shake": "shiver", "claw": "attack",
                "swim_fast": "swim", "coil": "crouch", "peck": "eat", "glide": "fly"},
    "winged": {"jog": "run", "swim_fast": "swim", "crawl": "walk"},
}  # fmt: skip
"""What the word for a motion means on a kind of body that does it in its own way: a spider that crawls walks."""


@dataclass(frozen=True)
class Wording:
    """A verb phrase without a subject, in three forms."""

    base: str
    """"trot along" """
    doing: str
    """"trotting along" """
    does: str
    """"trots along" """


@dataclass(frozen=True)
class Words:
    """The wordings of one motion."""

    name: str
    bodies: tuple[str, ...]
    """Kinds of body that can do it."""
    wordings: tuple[Wording, ...]
    sided: tuple[Wording, ...]
    """Those of the wordings that can name the side, with {side} for left or right."""


def body_kind(body: str) -> str:
    """The kind of body in this table for a name of `Limbs.body`."""
    return "upright" if body in UPRIGHT else body if body in BODIES else "other"


def inflect(phrase: str) -> Wording:
    """The forms of a phrase whose first word, and every word marked with ~, is a verb in its base form."""
    plain = phrase.replace("~", "")
    if phrase.startswith("do not "):
        return Wording(plain, f"not {participle(phrase[7:])}", f"does {phrase[3:]}")
    doing, does = (re.sub(r"~([\w-]+)", lambda verb, form=form: form(verb[1]), f"~{phrase}") for form in FORMS)
    if phrase.startswith("be "):
        state = doing.removeprefix("being ")
        doing = doing if state.startswith(PASSIVES) else state
    return Wording(plain, doing, does)


@cache
def vocabulary() -> Mapping[str, Words]:
    """All motions that have a name, in the order of the thesaurus."""
    return parse(THESAURUS.read_text(encoding="utf-8"), where=THESAURUS)


def parse(text: str, *, where: Path = THESAURUS) -> Mapping[str, Words]:
    """The motions of a thesaurus; the file itself says how it is written."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found: dict[str, Words] = {}
    for head, *body in _blocks(lines):
        name, _, kinds = head.partition(":")
        bodies = tuple(kinds.split())
        if name in found or not bodies or not set(bodies) <= set(BODIES) or not body:
            raise KinemaError(f"{where}: {head!r} needs a new name, kinds of body and wordings below it")
        phrases = [" ".join(phrase.split()) for phrase in " ".join(body).split(",") if phrase.strip()]
        plain = tuple(inflect(re.sub(r"\{(.*?)\|.*?\}", r"\1", phrase)) for phrase in phrases)
        sided = tuple(inflect(re.sub(r"\{.*?\|(.*?)\}", _name_side, phrase)) for phrase in phrases if "{" in phrase)
        found[name] = Words(name, bodies, plain, sided)
    return found


def _name_side(slot: re.Match[str]) -> str:
    return re.sub(r"\bside\b", "{side}", slot[1])


def _blocks(lines: list[str]) -> list[list[str]]:
    """Lines that begin at the margin, each with the indented ones that follow it."""
    starts = [index for index, line in enumerate(lines) if not line[0].isspace()]
    return [lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)])]


def motions_of(body: str) -> tuple[str, ...]:
    """Names of the motions that a kind of body can do."""
    kind = body_kind(body)
    return tuple(name for name, words in vocabulary().items() if kind in words.bodies)


VARIANTS = {
    "float": ("hover", "coast"), "flap": ("hover", "fly"), "rear": ("rise",), "peck": ("eat",), "attack": ("bite",),
    "crawl": ("walk",),
}  # fmt: skip
"""What is done in a motion's place by a prior that has not seen it on this kind of body: a snake that attacks bites."""
HURRIED = {"swim": "swim_fast", "slither": "slither_fast"}
"""Motions that have a row of their own when they are fast."""


def on_body(motion: str, body: str) -> str | None:
    """The motion as that kind of body does it ("crawl" is a spider's walk); None where it cannot."""
    kind = body_kind(body)
    if motion not in vocabulary():
        return motion
    return motion if kind in vocabulary()[motion].bodies else ALSO[kind].get(motion)
