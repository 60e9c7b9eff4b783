"""The suite of AKD's evaluation: 29 characters, their prompts, and tables of a method beside the field baseline.

Reports of runs go in, tables come out; `batch.suite` runs them.
"""

import math
import statistics
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kinema.evaluate.verdict import FITS

ANIMALS = (
    "fox", "wolf", "dog", "husky", "cat", "lion", "tiger", "bear", "horse", "zebra", "deer", "cow", "pig", "goat",
    "sheep", "elephant", "rhinoceros", "hippo", "camel", "giraffe", "rabbit", "mouse", "ostrich", "chicken",
)  # fmt: skip
HUMANOIDS = ("human", "thin human", "astronaut", "robot", "gorilla")
CHARACTERS = (*ANIMALS, *HUMANOIDS)
MOTIONS = {"walk": "walking", "run": "running", "jump": "jumping", "dance": "dancing", "punch": "punching"}
"""What a prompt says, by motion."""
GAITS = ("walk", "run")
"""What every character does; the others are the humanoids' only."""
METHODS = ("skeleton", "field")
"""Joints, and the baseline: a deformation field under the same prior, cameras and losses."""
MEASURES = {"slide": "slide", "skating": "skating", "PFC": "foot_contact", "jerk": "jerk"}
"""What runs report of a clip, by column."""
Figures = dict[str, float | None]
"""Values of a run by column; None where its method has none."""


@dataclass(frozen=True)
class Case:
    """One run of the suite."""

    character: str
    motion: str
    seed: int
    method: str

    @property
    def prompt(self) -> str:
        article = "an" if self.character[0] in "aeiou" else "a"
        return f"{article} {self.character} is {MOTIONS[self.motion]}"

    @property
    def name(self) -> str:
        """The same for both methods."""
        return f"{self.character.replace(' ', '-')}-{self.motion}-{self.seed}"

    @property
    def group(self) -> str:
        kind = "animals" if self.character in ANIMALS else "humanoids"
        return f"{kind}, {'gaits' if self.motion in GAITS else 'actions'}"


def cases(characters: Sequence[str], motions: Sequence[str], seeds: int) -> list[Case]:
    """All runs: every character with every motion that it is asked for, by both methods."""
    return [
        Case(character, motion, seed, method)
        for seed in range(seeds)
        for motion in motions  # a suite that is not finished has all characters walk
        for character in characters
        if motion in GAITS or character not in ANIMALS
        for method in METHODS
    ]


def figures(case: Case, report: dict[str, Any]) -> Figures:
    """The figures of one run, from its report.json; None where a method has none.

    Beside what a run reports, `intersection` is the share of faces in new contacts, as distilled and in the result.
    """
    raw = report["stages"]["field" if case.method == "field" else "distilled"]
    after = report["metrics"] if case.method == "skeleton" else {}
    found = {"right": _right(case, raw), "right after": _right(case, after)}
    for column, name in MEASURES.items():
        found |= {column: raw.get(name), f"{column} after": after.get(name)}
    shares = [100 * share for share in report["intersection"]]
    return found | {
        "self-int. %": shares[0],
        "self-int. % after": shares[1] if after else None,
        "bone change": None if after else raw["bone_change"],
        "CPU s": report["cpu_seconds"],
    }


def _right(case: Case, metrics: dict[str, Any]) -> float | None:
    """1 if the feet fall as those of the gait that was asked for; of actions they tell nothing."""
    return float(metrics["gait"] in FITS[case.motion]) if metrics and case.motion in FITS else None


NOTES = """\
- mean ± standard deviation over characters and motions, each the mean of its seeds; in brackets the standard deviation
  between the seeds of one character and motion (root mean square over all).
- "after" is after feet were planted and physics, which hold stance feet in place by construction; the baseline has no
  such stage. The fair columns are those as distilled.
- Bones of a skeleton cannot change their length: by construction, so there is no figure.
- A gait is right by its footfalls. Of actions nothing is said: the embedded prior cannot judge what it made itself.
- Seconds of joints are with planting and physics, which the baseline has not.
- The baseline has the skeleton's prior, cameras, basis in time and losses, those of the feet included;
  limits of joints it cannot have.
- Self-intersection: share of the mesh's faces that meet another one and do not at rest, without creases (faces nearer
  to each other at rest than a tenth of the body).
- The skating ratio counts every foot below 5 cm that moves: feet that swing low skate by it, however still others are.
- Skating ratio as GMD's, PFC as EDGE's, both scaled to human legs; slide relative to the body's speed; jerk in leg
  lengths per cycle³."""


def suite_table(rows: Iterable[tuple[Case, Figures]]) -> str:
    """Markdown: groups and methods by row, figures by column, and which runs show another gait."""
    runs = list(rows)
    if not runs:
        return "no run is finished\n"
    names = list(dict.fromkeys(name for _, values in runs for name in values))
    lines = [f"| | | runs | {' | '.join(names)} |", "|---" * (3 + len(names)) + "|"]
    for group in sorted({case.group for case, _ in runs}):
        for method in METHODS:
            entries = [(case, values) for case, values in runs if (case.group, case.method) == (group, method)]
            columns = [[((c.character, c.motion), values.get(name)) for c, values in entries] for name in names]
            if entries:
                lines.append(f"| {group} | {method} | {len(entries)} | {' | '.join(map(cell, columns))} |")
    return "\n".join((*lines, "", NOTES, *_wrong_gaits(runs), *_gaits_in_pairs(runs), ""))


def _wrong_gaits(runs: Iterable[tuple[Case, Figures]]) -> Iterator[str]:
    """Which runs do not show the gait that was asked for, by method and stage."""
    found: dict[str, list[str]] = {}
    for case, values in runs:
        for name, stage in (("right", "as distilled"), ("right after", "after planting and physics")):
            if values.get(name) is not None:
                found.setdefault(f"{case.method}, {stage}", []).append("" if values[name] else case.name)
    for which, named in sorted(found.items(), reverse=True):
        wrong = list(filter(None, named))
        yield f"- Another gait, {which}: {len(wrong)} of {len(named)}" + (f" ({', '.join(wrong)})" if wrong else "")


def _gaits_in_pairs(runs: Iterable[tuple[Case, Figures]]) -> Iterator[str]:
    """Joints beside the field on the same prompt and seed, as distilled: medians, and a test that ignores sizes."""
    from scipy.stats import binomtest

    values = {(case.name, case.method): found for case, found in runs if case.motion in GAITS}
    names = [name for name, method in values if method == METHODS[0] and (name, METHODS[1]) in values]
    for column in (*MEASURES, "self-int. %"):
        found = [[values[name, method][column] for method in METHODS] for name in names]
        pairs = [(a, b) for a, b in found if a is not None and b is not None]
        less, more = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
        if less + more:
            joints, field = (statistics.median(side) for side in zip(*pairs))
            yield (
                f"- Gaits, {column} as distilled: median {joints:.3g} of joints and {field:.3g} of the field; joints"
                f" have less in {less} of {len(pairs)} pairs and more in {more}"
                f" (sign test p = {binomtest(less, less + more).pvalue:.2g})"
            )


def cell(values: Iterable[tuple[Hashable, float | None]]) -> str:
    """Mean and standard deviation over cases, and that between the runs of a case (`NOTES`)."""
    runs: dict[Hashable, list[float]] = {}
    for case, value in values:
        if value is not None:
            runs.setdefault(case, []).append(value)
    if not runs:
        return "–"
    means = [statistics.fmean(of) for of in runs.values()]
    spread = f" ± {statistics.stdev(means):.2g}" if len(means) > 1 else ""
    within = [statistics.variance(of) for of in runs.values() if len(of) > 1]
    seeds = f" ({math.sqrt(statistics.fmean(within)):.2g})" if within else ""
    return f"{statistics.fmean(means):.3g}{spread}{seeds}"
