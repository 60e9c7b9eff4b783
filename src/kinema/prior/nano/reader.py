"""The reader: which motion of the vocabulary a sentence means, and whether any.

Verb phrases are compared, not sentences: nouns dominate sentence embeddings. Two things speak for a motion: wordings of
the vocabulary that stand in the phrase word by word, and a linear classifier on the phrase's embedding that has a class
for "none of these". `reader_fit.py` fits both and how they are weighed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from kinema.create.creatures.kin import KIN
from kinema.create.creatures.table import ALSO, SPECIES
from kinema.gait.match import NONE, Match, find_matches
from kinema.gait.sentence import Sentence, make_key, take_apart
from kinema.gait.spelling import is_made_up, mend
from kinema.gait.vocabulary import HURRIED, VARIANTS, body_kind, on_body, vocabulary
from kinema.learn.text import embed_texts, is_word
from kinema.prior.protocol import KnownMotion, PromptReading
from kinema.tensor_files import load_tensors, save_tensors

WEIGHTS = Path(__file__).with_name("reader.safetensors")
HEADER = "reader"
BANK_SCALE = 50.0
"""Numbers of unit embeddings are about 0.05; times this they fit into four bits, which changes a cosine by 0.006."""
FEATURES = ("classifier", "none", "whole", "place", "object", "stray", "length", "shorter", "likeness")
"""What the score of a class is made of; see `features`."""
CLEAR = 0.8
"""Probability from which on a motion that the body cannot do is what is meant; below, it is the next one."""
LEAST_CHARACTER = -1.0
"""Log-odds of being a character below which a subject is taken for something without a body."""
CREATURES = frozenset((*SPECIES, *ALSO, *KIN))
"""Last words of subjects that can be made, so they are characters."""
NAMED = 0.6
"""Probability from which on two or three words are taken for the name of a motion."""
OTHER_BODY = 2.0
"""Subtracted from the score of motions that the body cannot do: between two meanings, the possible one."""
_LEADS = "stand look rear reach crouch aim guard turn_around flap stretch point"
LEADS = frozenset(_LEADS.split())
"""Motions that lead to the one behind "and": "raises its head and howls"."""
_GOING = "walk run jog trot pace canter gallop sneak march skip hop crawl swim swim_fast fly glide slither"
_BACKWARDS = "fall flip die jump dodge roll kick hit lie swim walk_back sidle slide punch look throw attack"
GOING = frozenset(_GOING.split())
"""Motions that go somewhere: to the left or right they are turns, backwards they are steps back."""
BACKWARDS = frozenset(_BACKWARDS.split())
"""Motions that may also go backwards."""


@dataclass(frozen=True)
class Reader:
    """The classifier on embeddings of verb phrases, and how much its word counts beside the wordings'."""

    mean: Float[Tensor, "384"]
    """Of the embeddings of all phrases; they are compared from here."""
    weight: Float[Tensor, "classes 384"]
    """Of the motions in the order of the vocabulary, then of "none of these"."""
    bias: Float[Tensor, "classes"]
    blend: Float[Tensor, "features"]
    """Weights of `FEATURES`."""
    subject: Float[Tensor, "385"]
    """Weights and bias that tell characters from what has no body."""
    bank: Float[Tensor, "phrases 384"]
    """Centred embeddings of the phrases that it was fitted to."""
    owner: Int[Tensor, "phrases"]
    """Their classes."""

    @staticmethod
    @cache
    def load() -> "Reader":
        """The one in the package."""
        tensors, _ = load_tensors(WEIGHTS, key=HEADER)
        return Reader.from_tensors(tensors)

    @staticmethod
    def from_tensors(tensors: dict[str, Tensor]) -> "Reader":
        packed, owner = tensors["bank"].to(torch.int16), tensors["owner"].long()
        bank = (torch.cat((packed & 15, packed >> 4), -1) - 8).float() / BANK_SCALE
        others = {name: tensor.float() for name, tensor in tensors.items() if name not in ("bank", "owner")}
        return Reader(**others, bank=bank, owner=owner)

    def tensors(self) -> dict[str, Tensor]:
        """For a file: half precision, two numbers of the bank in a byte."""
        levels = ((self.bank * BANK_SCALE).round().clamp(-7, 7) + 8).to(torch.uint8)
        low, high = levels.chunk(2, -1)
        small = {name: getattr(self, name).half() for name in ("mean", "weight", "bias", "blend", "subject")}
        return small | {
            "bank": low | (high << 4),
            "owner": self.owner.to(torch.int16),
        }

    def save(self, path: Path, *, words: str) -> None:
        """`words` is the checksum of the word lists that it was fitted to."""
        save_tensors(path, self.tensors(), header={"words": words}, key=HEADER)

    def read(self, text: str, body: str | None = None, *, known: Collection[str] | None = None) -> PromptReading:
        """What a sentence means on a kind of body, for a prior that knows some of the motions (by default all)."""
        return _Reading(self, take_apart(mend(text, is_word)), body, known).result()

    def scores(self, cores: list[str], keys: list[tuple[str, ...]]) -> Float[Tensor, "phrases classes"]:
        """Log-probabilities of the classes, without regard to the body."""
        unit = normalize(embed_texts([framed(core) for core in cores]) - self.mean, dim=-1)
        logits = torch.log_softmax(unit @ self.weight.T + self.bias, -1)
        alike = likeness(unit, self.bank, self.owner, classes=len(self.bias))
        rows = [features(*row) for row in zip(logits, alike, keys)]
        return torch.log_softmax(torch.stack(rows) @ self.blend, -1)

    def is_character(self, subject: str) -> bool:
        """False for what can have no body: prices, weather, governments; creatures that can be made are characters."""
        if subject.lower().split()[-1] in CREATURES:
            return True
        embedded = embed_texts([subject])[0]
        return float(self.subject[:-1] @ embedded + self.subject[-1]) > LEAST_CHARACTER


def trained_names(motions: Sequence[KnownMotion], body: str | None) -> frozenset[str]:
    """Names of the motions that a prior was trained on, on that kind of body or any; all where it has no list."""
    if not motions:
        return frozenset(vocabulary())
    return frozenset(row.name for row in motions if body is None or body_kind(row.body) == body_kind(body))


def framed(core: str) -> str:
    """The phrase as it is embedded: rare verbs fare better in a sentence."""
    return f"someone is {core}"


def likeness(
    unit: Float[Tensor, "phrases 384"], bank: Float[Tensor, "known 384"], owner: Int[Tensor, "known"], *, classes: int
) -> Float[Tensor, "phrases classes"]:
    """Cosine to the nearest phrase of each class."""
    nearest = torch.full((len(unit), classes), -1.0)
    return nearest.scatter_reduce(1, owner.expand(len(unit), -1), unit @ bank.T, "amax")


def features(
    logits: Float[Tensor, "classes"],
    alike: Float[Tensor, "classes"],
    key: tuple[str, ...],
    *,
    besides: bool = False,
) -> Float[Tensor, "classes features"]:
    """`FEATURES` of each class.

    Args:
        besides: leave out wordings that are the phrase itself, as if it were new.
    """
    table = torch.zeros(len(logits), len(FEATURES))
    table[:, 0] = logits.clamp(min=-9.0)
    table[:, 8] = alike
    table[-1, 1] = 1.0
    names = {name: index for index, name in enumerate((*vocabulary(), NONE))}
    matches = find_matches(key, besides=besides)
    longest = max((match.length for match in matches), default=0)
    for match in matches:
        row = table[names[match.motion]]
        row[2 + _fit(match)] = 1.0
        row[6] = min(match.length - 1, 3) if match.length == longest else 0.0
        row[7] = float(match.length < longest)
    return table


def _fit(match: Match) -> int:
    """How a wording fits: 0 the phrase is the wording, 1 with a place, 2 with any object, 3 with words left over."""
    if match.left_over > 0:
        return 3
    return 2 if match.open else int(match.places > 0)


class _Reading:
    """One sentence on its way to a reading."""

    def __init__(self, reader: Reader, sentence: Sentence, body: str | None, known: Collection[str] | None) -> None:
        self.reader, self.sentence, self.body = reader, sentence, body
        self.known = frozenset(vocabulary()) if known is None else frozenset(known)

    def result(self) -> PromptReading:
        sentence = self.sentence
        odds = self.odds(sentence.core, sentence.key)
        motion, confidence = _best(odds)
        named, sure = self._of_label()
        motion, confidence = (named, sure) if sure > NAMED else (motion, confidence)
        problem = self._form_problem()
        if problem is None and len(sentence.clauses) > 1 and not self._is_wording():
            motion, confidence, problem = self._join(motion, confidence)
        subject = "" if sentence.label else sentence.subject
        if problem is None and subject and not self.reader.is_character(subject):
            motion, problem = NONE, f"{sentence.subject!r} is no character"
        if motion == NONE:
            return self._reading(*_best(odds, beside=NONE), odds, problem, known=False)
        motion, problem = self._on_body(motion, problem)
        return self._reading(motion, confidence, odds, problem, known=problem is None and motion in self.known)

    def odds(self, core: str, key: tuple[str, ...]) -> dict[str, float]:
        """Probability of each motion and of none, the body's own motions first."""
        scores = self.reader.scores([core], [key])[0]
        names = (*vocabulary(), NONE)
        if self.body is not None:
            unfit = [name != NONE and on_body(name, self.body) is None for name in names]
            scores = scores - OTHER_BODY * torch.tensor(unfit)
            if float(torch.softmax(scores, -1).max()) < CLEAR:
                scores[torch.tensor(unfit)] = -torch.inf
        return dict(zip(names, torch.softmax(scores, -1).tolist()))

    def _of_label(self) -> tuple[str, float]:
        """The motion that the text is a name of ("sword attack"), and how sure that is."""
        label = self.sentence.label
        if not label:
            return NONE, 0.0
        found, sure = _best(self.odds(f"doing a {label}", ("do", *make_key(label))))
        return found, sure if found != NONE else 0.0

    def _is_wording(self) -> bool:
        return any(match.left_over == 0 for match in find_matches(self.sentence.key)[:1])

    def _is_made_up(self) -> bool:
        """The verb is no word, and no wording stands beside it that would tell what is meant."""
        sentence = self.sentence
        return not find_matches(sentence.key) and any(is_made_up(verb, is_word) for verb in sentence.core.split()[:1])

    def _form_problem(self) -> str | None:
        """What is said in a form that nothing can be made of."""
        sentence = self.sentence
        checks = (
            (not sentence.core, "no words; say who does what"),
            (sentence.language != "English", f"the words seem to be {sentence.language}; say it in English"),
            (sentence.several, "several characters; a run animates one"),
            (sentence.sequence, "one thing after another; say it as 'walks, then sits'"),
            (sentence.negated, "says what is not done; say what is done"),
            (self._is_made_up(), f"{sentence.phrase!r} has no verb that is known"),
        )
        return next((text for found, text in checks if found), None)

    def _join(self, motion: str, confidence: float) -> tuple[str, float, str | None]:
        """The motion of phrases joined by "and": the last one's, unless another is named as clearly."""
        parts = [take_apart(clause) for clause in self.sentence.clauses]
        found = [_best(self.odds(part.core, part.key)) for part in parts]
        last, sure = found[-1]
        if last == NONE:
            return NONE, sure, None
        clear = [name for (name, _), part in zip(found, parts) if self._is_named(name, part.key)]
        named = list(dict.fromkeys(name for i, name in enumerate(clear) if name not in LEADS or i == len(clear) - 1))
        if len(named) > 1:
            return motion, confidence, f"two motions at once ({' and '.join(named)}); run a prompt for each"
        name = named[0] if named and named[0] != "stand" else last if last != "stand" else motion
        return name, max([odds for each, odds in found if each == name] or [confidence]), None

    def _is_named(self, name: str, key: tuple[str, ...]) -> bool:
        """A phrase is a wording of the motion, and the body can do it."""
        fits = name != NONE and (self.body is None or on_body(name, self.body) == name)
        return fits and any(m.motion == name and m.left_over == 0 and not m.open for m in find_matches(key))

    def _on_body(self, motion: str, problem: str | None) -> tuple[str, str | None]:
        """The motion as this body does it, with the direction in which it goes."""
        sentence, direction = self.sentence, self.sentence.direction
        if direction in ("left", "right") and motion in GOING:
            motion = f"turn_{direction}"
        elif direction == "backwards" and motion in GOING and motion not in BACKWARDS:
            motion = "walk_back"
        elif direction == "backwards" and motion not in BACKWARDS:
            problem = problem or f"{motion} backwards is not known"
        if self.body is None:
            return motion, problem
        kind = body_kind(self.body)
        if sentence.manner == "fast" and HURRIED.get(motion) in self.known:
            motion = HURRIED[motion]
        if kind == "upright" and motion == "run" and sentence.manner == "slow":
            motion = "jog"
        fitting = on_body(motion, self.body)
        if fitting is None:
            return motion, problem or f"this body cannot {vocabulary()[motion].wordings[0].base} ({kind})"
        others = (name for name in VARIANTS.get(fitting, ()) if name in self.known and fitting not in self.known)
        return next(others, fitting), problem

    def _reading(
        self, motion: str, confidence: float, odds: dict[str, float], problem: str | None, *, known: bool
    ) -> PromptReading:
        fits = {name for name in self.known if self.body is None or on_body(name, self.body) == name}
        nearest = sorted(fits - ({motion} if known else set()), key=lambda name: -odds.get(name, 0.0))
        sentence = self.sentence
        return PromptReading(
            motion, confidence, phrase=sentence.phrase, known=known, nearest=tuple(nearest[:3]), manner=sentence.manner,
            direction=sentence.direction, problem=problem,
        )  # fmt: skip


def _best(odds: dict[str, float], *, beside: str | None = None) -> tuple[str, float]:
    """The most likely motion, or none of them, and its probability."""
    name = max((name for name in odds if name != beside), key=lambda name: odds[name])
    return name, odds[name]
