"""`kinema study` and `kinema study report`: a page for human raters, and what they answered."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from kinema.cli.arguments import SEEDS, OutFolder, check_ranges
from kinema.cli.output import Output
from kinema.options import named


@dataclass(frozen=True)
class StudyCommand:
    """Make a static page on which people compare the films of two methods: pairs, three questions, answers as JSON."""

    a: Annotated[tyro.conf.Positional[Path], named("A")]
    """Films of one method: the folder of `kinema batch`, or of films with the same names as those of B."""
    b: Annotated[tyro.conf.Positional[Path], named("B")]
    """Films of the other."""
    out: OutFolder
    """Folder for the page; FOLDER.key.json beside it tells which film is whose and stays with you."""
    seed: int = 0
    """Seed of the order and the sides; each rater's name makes them differ."""
    names: Annotated[tuple[str, str] | None, named("A B")] = None
    """What the report calls the methods; by default the names of their folders."""


def study(command: StudyCommand, output: Output) -> None:
    from kinema.evaluate.study.page import make_page

    check_ranges(command, seed=SEEDS)
    names = command.names or (command.a.resolve().name, command.b.resolve().name)
    key, pairs = make_page(command.a, command.b, command.out, names=names, seed=command.seed)
    page = command.out / "index.html"
    output.say(f"{page}: {pairs} pairs; keep {key} to yourself", page=page, key=key, pairs=pairs)


@dataclass(frozen=True)
class StudyReportCommand:
    """Report what raters answered: exact intervals, bootstrap over raters, Bradley–Terry, raters needed."""

    answers: Annotated[tyro.conf.Positional[tuple[Path, ...]], named("ANSWERS")]
    """Files that raters have sent back."""
    key: Annotated[tuple[Path, ...], named("FILE")]
    """FOLDER.key.json of the page, or of several pages that share methods."""
    seed: int = 0
    """Seed of the bootstrap."""


def study_report(command: StudyReportCommand, output: Output) -> None:
    from kinema.evaluate.study.answers import read_answers
    from kinema.evaluate.study.report import report_lines
    from kinema.evaluate.study.report import study_report as report

    check_ranges(command, seed=SEEDS)
    found = report(read_answers(command.answers, command.key), seed=command.seed)
    output.say("\n".join(report_lines(found)), **found)
