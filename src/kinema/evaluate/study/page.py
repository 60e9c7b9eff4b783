"""The page of a study: a folder that any web server, or a browser alone, can show."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np

from kinema.errors import KinemaError
from kinema.evaluate.study.films import pair_films
from kinema.files import make_folder, replacing, write_text

QUESTIONS = {
    "motion": "In which film does the character move more?",
    "physics": "In which film is the motion physically more plausible?",
    "text": "Which film fits the text better?",
}
"""What raters are asked of each pair, by name."""
PAIRS_PER_CHECK = 8
"""Real pairs for each attention check."""
TEMPLATE = Path(__file__).with_name("page.html")


def make_page(a: Path, b: Path, out: Path, *, names: tuple[str, str], seed: int = 0) -> tuple[Path, int]:
    """Write the page and, beside its folder, the key that tells which film is whose; returns the key and the pairs.

    The page knows films only by a hash of their content. Which film of a pair comes first is drawn from `seed`; order
    and sides of a rater from `seed` and the rater's name, in the browser.
    """
    if names[0] == names[1]:
        raise KinemaError(f"--names {names[0]} {names[1]}: two methods need two names")
    pairs, rng = pair_films(a, b), np.random.default_rng(seed)
    make_folder(out / "films")
    whose: dict[str, dict[str, str]] = {}
    shown = []
    for number, pair in enumerate(pairs):
        if pair[0].name == pair[1].name:
            raise KinemaError(f"{pair[0].path}, {pair[1].path}: are the same film")
        for film in pair:
            with replacing(out / "films" / film.name) as partial:
                shutil.copyfile(film.path, partial)
        films = [pair[k].name for k in rng.permutation(2)]
        shown.append({"id": f"p{number}", "prompt": pair[0].prompt, "films": films})
        whose[f"p{number}"] = {film.name: name for film, name in zip(pair, names)}
    told = json.dumps([shown, seed], sort_keys=True)
    study = {
        "id": hashlib.sha256(told.encode()).hexdigest()[:12], "seed": seed, "pairs": shown,
        "checks": max(1, round(len(shown) / PAIRS_PER_CHECK)),
        "questions": [{"name": name, "text": text} for name, text in QUESTIONS.items()],
    }  # fmt: skip
    data = json.dumps(study).replace("<", "\\u003c")  # so that a prompt cannot end the script
    write_text(out / "index.html", TEMPLATE.read_text(encoding="utf-8").replace("STUDY_DATA", data))
    key = out.parent / f"{out.name}.key.json"
    write_text(key, json.dumps({"study": study["id"], "names": names, "films": whose}, indent=2))
    return key, len(pairs)
