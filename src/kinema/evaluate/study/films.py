"""The films of two methods, paired by what they show."""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

from kinema.errors import KinemaError
from kinema.files import read_json

SUFFIXES = (".mp4", ".webm", ".webp", ".gif")
FILM, CONFIG, PROMPTS = "preview.mp4", "config.json", "prompts.csv"


@dataclass(frozen=True)
class Film:
    """One film of a method."""

    shows: str
    """What pairs it with the film of the other method."""
    prompt: str
    path: Path

    @property
    def name(self) -> str:
        """A name that tells nothing about the method."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:16] + self.path.suffix.lower()


def find_films(folder: Path) -> dict[str, Film]:
    """Films of a folder by what they show.

    Runs of `kinema animate` below it (a batch) are known by character, prompt and seed; other films by their name, with
    their prompts in prompts.csv (`film,prompt`) or, where that has none, the words of the name.
    """
    if not folder.is_dir():
        raise KinemaError(f"{folder}: no such folder")
    runs = sorted(path.parent for path in folder.glob(f"*/{FILM}") if (path.parent / CONFIG).is_file())
    found = [_film_of_run(run) for run in runs]
    prompts = _prompts(folder / PROMPTS)
    for path in sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES):
        prompt = prompts.get(path.name) or prompts.get(path.stem) or path.stem.replace("-", " ").replace("_", " ")
        found.append(Film(path.stem, prompt, path))
    if not found:
        raise KinemaError(f"{folder}: has no films ({' '.join(SUFFIXES)}) and no finished runs")
    films: dict[str, Film] = {}
    for film in found:
        other = films.setdefault(film.shows, film)
        if other is not film:
            raise KinemaError(f"{other.path}, {film.path}: both show {film.shows!r}; a folder holds one method's films")
    return films


def pair_films(a: Path, b: Path) -> list[tuple[Film, Film]]:
    """Films of both methods that show the same."""
    first, second = find_films(a), find_films(b)
    shared = [shows for shows in first if shows in second]
    if not shared:
        examples = f"{next(iter(first))!r} and {next(iter(second))!r}"
        raise KinemaError(f"{a}, {b}: no film of one shows what a film of the other does, such as {examples}")
    return [(first[shows], second[shows]) for shows in shared]


def _film_of_run(run: Path) -> Film:
    config = read_json(run / CONFIG).get("config", {})
    words = [Path(str(config.get("asset", ""))).stem, str(config.get("prompt", "")), str(config.get("seed", 0))]
    return Film(" | ".join(words), words[1], run / FILM)


def _prompts(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if len(row) >= 2]
    return {film.strip(): prompt.strip() for film, prompt, *_ in rows if film != "film"}
