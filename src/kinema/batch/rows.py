"""The file of a batch: rows whose columns are the options of `kinema animate`, as CSV or TOML.

A list in TOML stands for one job per value, several lists for all their combinations.
"""

import csv
import itertools
import json
import math
import re
import tomllib
import types
from collections.abc import Iterable, Iterator
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kinema.asset.options import FileOptions, NameOptions
from kinema.batch.job import Job
from kinema.batch.key import key_of
from kinema.create.options import MakerOptions
from kinema.distill.config import RENAMED, Animate
from kinema.errors import KinemaError, first_line
from kinema.options import from_json

GROUPS = {"reading": FileOptions, "making": MakerOptions, "naming": NameOptions}
"""Fields of `Animate` that are groups of options, which are columns themselves."""
OWN = ("out", "resume", "overwrite", "more")
"""Fields that are the batch's own business: where jobs run, and one prompt for each."""
YES, NO = ("true", "yes", "1"), ("false", "no", "0")
MOST_JOBS = 1_000_000
"""Combinations of the lists of a table."""
Row = tuple[int, dict[str, Any]]
"""Line of the file, and the values by column: text in CSV, typed in TOML."""


def read_jobs(path: Path) -> list[Job]:
    """All jobs of a file. A row that cannot be read is a job that has failed, with its line; equal rows are one job."""
    if not path.is_file():
        raise KinemaError(f"{path}: no such file")
    readers = {".csv": _csv_rows, ".toml": _toml_rows}
    if path.suffix.lower() not in readers:
        raise KinemaError(f"{path}: a batch is a .csv or a .toml file, not {path.suffix!r}")
    try:
        rows = list(readers[path.suffix.lower()](path))
    except (OSError, ValueError, RecursionError, csv.Error) as error:  # what TOML's reader and decoders raise
        raise KinemaError(f"{path}: cannot be read ({first_line(error)})") from None
    if not rows:
        raise KinemaError(f"{path}: has no jobs")
    found: dict[str, Job] = {}
    for line, values in rows:
        job = job_of(values, line)
        before = found.get(job.key)
        lines = (*before.lines, line) if before is not None else (line,)
        found[job.key] = Job(job.key, job.title, lines, job.content, job.mistake)
    return list(found.values())


def job_of(values: dict[str, Any], line: int) -> Job:
    """The job of a row; one that cannot be read has a mistake."""
    title = f"{values.get('asset', '')}: {values.get('prompt', '')}"
    title += f" (seed {values['seed']})" if values.get("seed") not in (None, "") else ""
    try:
        config = config_of(values)
        return Job(key_of(config), title, (line,), config)
    except KinemaError as error:
        return Job(key_of(json.dumps(values, sort_keys=True, default=str)), title, (line,), mistake=str(error))


def config_of(values: dict[str, Any]) -> Animate:
    """The options of a row; empty cells are left at their defaults."""
    known = columns()
    groups = {field.name: name for name, group in GROUPS.items() for field in fields(group)}
    told: dict[str, Any] = {name: {} for name in GROUPS}
    for column, value in values.items():
        name = _field(column)
        if isinstance(value, str) and not value.strip():
            continue
        if not column:
            raise KinemaError(f"the row has more cells than there are columns ({str(value)[:60]})")
        if name not in known:
            raise KinemaError(unknown(column))
        part = told[groups[name]] if name in groups else told
        part[name] = _from_text(known[name], value.strip()) if isinstance(value, str) else value
    if not told.get("asset") or not told.get("prompt"):
        raise KinemaError("a job needs an asset and a prompt")
    return from_json(Animate, told, about="the row")


@cache
def columns() -> dict[str, Any]:
    """Type of each column, by the name of its field."""
    kinds = [get_type_hints(group) for group in (Animate, *GROUPS.values())]
    return {name: kind for found in kinds for name, kind in found.items() if name not in (*OWN, *GROUPS)}


def unknown(column: str) -> str:
    names = [RENAMED.get(name, name.replace("_", "-")) for name in columns()]
    near = get_close_matches(column.replace("_", "-"), names, n=1, cutoff=0.6)
    return f"{column!r} is not an option of kinema animate" + (f"; did you mean {near[0]}?" if near else "")


def _field(column: str) -> str:
    name = column.strip().replace("-", "_")
    return next((field for field, option in RENAMED.items() if option == name), name)


def _csv_rows(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(_text_lines(file), skipinitialspace=True)
        names = [_field(column) for column in reader.fieldnames or ()]
        for name, column in zip(names, reader.fieldnames or ()):
            if name not in columns():
                raise KinemaError(f"{path}: {unknown(column)}")
            if names.count(name) > 1:
                raise KinemaError(f"{path}: has the column {column!r} twice")
        for row in reader:
            # Cells beyond the header have no column; cells that are missing at the end have no value.
            yield reader.line_num, {column or "": value or "" for column, value in row.items()}


def _text_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a text; csv takes zero bytes for characters."""
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            raise csv.Error(f"line {number} holds a zero byte")
        yield line


def _toml_rows(path: Path) -> Iterator[Row]:
    text = path.read_text(encoding="utf-8")
    common = tomllib.loads(text)
    jobs = common.pop("job", [{}])
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise KinemaError(f"{path}: write each job as a table [[job]]")
    headers = [k for k, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*job\s*\]\]", line)]
    for index, job in enumerate(jobs):
        line = headers[index] if index < len(headers) else 1
        yield from ((line, row) for row in _combinations(common | job))


def _combinations(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All combinations of the values that are lists; an option that is a list itself is a list of lists."""

    def choices(column: str, value: Any) -> list[Any]:
        listed = get_origin(_without_none(columns().get(_field(column)))) is tuple
        several = isinstance(value, list) and (not listed or (bool(value) and isinstance(value[0], list)))
        return value if several else [value]

    several = [choices(column, value) for column, value in values.items()]
    if (count := math.prod(map(len, several))) > MOST_JOBS:
        raise ValueError(f"{count:.3g} combinations, at most {MOST_JOBS} can be run")
    for chosen in itertools.product(*several):
        yield dict(zip(values, chosen))


def _without_none(kind: Any) -> Any:
    """The type of an option that may be left out."""
    given = [part for part in get_args(kind) if part is not type(None)]
    return given[0] if get_origin(kind) in (Union, types.UnionType) and len(given) == 1 else kind


def _from_text(kind: Any, text: str) -> Any:
    """The value of a cell, as JSON would hold it; what cannot be read stays text, and its type is then refused."""
    kind = _without_none(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return next((v for v in (_from_text(part, text) for part in get_args(kind)) if not isinstance(v, str)), text)
    if get_origin(kind) is tuple:
        return [_from_text(part, word) for part, word in zip(get_args(kind), text.split())]
    if get_origin(kind) is Literal or kind in (str, Path):
        return text
    if kind is bool:
        return True if text.lower() in YES else False if text.lower() in NO else text
    try:
        return int(text) if kind is int else float(text)
    except ValueError:
        return text
