"""Answers of raters: files read, attention checked, and who was preferred to whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinema.errors import KinemaError
from kinema.evaluate.study.page import QUESTIONS
from kinema.files import read_json

LEAST_PASSED = 2 / 3
"""Share of the attention checks that a rater must pass."""
OTHER = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class Comparison:
    """One answer: a method was preferred to another."""

    rater: str
    winner: str
    loser: str


@dataclass(frozen=True)
class Answers:
    """All answers of a study, or of several that share methods."""

    names: tuple[str, ...]
    comparisons: dict[str, tuple[Comparison, ...]]
    """By question."""
    raters: tuple[str, ...]
    """Whose answers count."""
    inattentive: tuple[str, ...]
    """Whose answers do not, because of the attention checks."""


def read_answers(files: Sequence[Path], keys: Sequence[Path]) -> Answers:
    """Read the files of all raters with the keys of their studies."""
    studies = {key["study"]: key for key in map(_key, keys)}
    names = tuple(dict.fromkeys(name for key in studies.values() for name in key["names"]))
    found: dict[str, list[Comparison]] = {question: [] for question in QUESTIONS}
    raters: list[str] = []
    inattentive: list[str] = []
    read: set[tuple[str, str]] = set()
    for path in files:
        answer = _record(path, ("study", "rater", "trials"))
        key, rater = studies.get(answer["study"]), str(answer["rater"])
        if key is None:
            raise KinemaError(f"{path}: is of study {answer['study']}, of which no key was given")
        if (key["study"], rater) in read:
            raise KinemaError(f"{path}: rater {rater!r} has answered in another file already")
        read.add((key["study"], rater))
        try:
            passed, total = attention(answer["trials"])
            compared = {question: _compared(answer["trials"], question, rater, key["films"]) for question in QUESTIONS}
        except (KeyError, TypeError, AttributeError) as error:
            raise KinemaError(f"{path}: not the answers of a study ({error!r} is missing or wrong)") from None
        if total and passed < LEAST_PASSED * total:
            inattentive.append(rater)
            continue
        raters.append(rater)
        for question, comparisons in compared.items():
            found[question] += comparisons
    return Answers(
        names, {question: tuple(entries) for question, entries in found.items()}, tuple(dict.fromkeys(raters)),
        tuple(inattentive),
    )  # fmt: skip


def attention(trials: list[dict[str, Any]]) -> tuple[int, int]:
    """Checks passed and asked: of a film beside itself held still, the one that is not still moves more."""
    checks = [trial for trial in trials if trial["still"] is not None]
    return sum(trial["motion"] == OTHER[trial["still"]] for trial in checks), len(checks)


def _compared(trials: list[dict[str, Any]], question: str, rater: str, films: dict[str, Any]) -> list[Comparison]:
    result = []
    for trial in trials:
        if trial["still"] is None:
            whose = films[trial["pair"]]
            winner = trial[question]
            result.append(Comparison(rater, whose[trial[winner]], whose[trial[OTHER[winner]]]))
    return result


def _key(path: Path) -> dict[str, Any]:
    return _record(path, ("study", "names", "films"))


def _record(path: Path, fields: tuple[str, ...]) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict) or not set(fields) <= found.keys():
        raise KinemaError(f"{path}: has not all of {', '.join(fields)}, so it is no file of a study")
    return found
