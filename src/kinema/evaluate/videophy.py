"""The judges of VideoPhy and VideoPhy-2 (7B video language models): does a film show the sentence, and obey physics?

Their code needs another transformers than ours and CUDA, so their own scripts load and run them, in their own Python.
VideoPhy's physics disagrees with its own human raters about which models are better: it is never reported alone.
Films are shown without ground, as AKD's were.
"""

import csv
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from kinema.errors import KinemaError

PREPARE = Path("utils/prepare_data.py")
INFER = Path("videocon/training/pipeline_video/entailment_inference.py")
INFER_2 = Path("VIDEOPHY2/inference.py")
TASKS_2 = {"semantic": "sa", "physical": "pc"}
"""What VideoPhy-2 calls its questions."""
GOOD_2 = 4.0
"""Score of VideoPhy-2, of 1 to 5, from which on a film counts as good."""


@dataclass(frozen=True)
class VideoPhy:
    """Where the judge is installed."""

    checkout: Path
    """A clone of github.com/Hritikbansal/videophy."""
    weights: Path
    """The folder of videophysics/videocon_physics."""
    python: Path = Path(sys.executable)
    """The Python that has VideoPhy's requirements."""

    def check(self) -> None:
        """Before a film is rendered for nothing."""
        _check(self.checkout, (PREPARE, INFER), self.weights, "videocon_physics")

    def scores(self, film: Path, prompt: str) -> dict[str, float]:
        """Probabilities of "yes": `semantic` (the film shows the sentence) and `physical` (it follows the laws)."""
        self.check()
        with tempfile.TemporaryDirectory() as name:
            folder, films = Path(name), _film_list(Path(name), film, prompt)
            run_script(self.python, self.checkout / PREPARE, "--input_csv", films, "--output_folder", folder)
            return {
                "semantic": self._infer(folder / "sa_testing.csv"),
                "physical": self._infer(folder / "physics_testing.csv"),
            }

    def _infer(self, questions: Path) -> float:
        answers, weights = questions.with_suffix(".answers"), self.weights.resolve()
        told = ("--input_csv", questions, "--output_csv", answers, "--checkpoint", weights, "--batch_size", 1)
        run_script(self.python, self.checkout / INFER, *told)
        return _first_score(self.checkout / INFER, answers, lambda file: next(csv.reader(file))[-1])


@dataclass(frozen=True)
class VideoPhy2:
    """Where the second judge is installed."""

    checkout: Path
    """A clone of github.com/Hritikbansal/videophy."""
    weights: Path
    """The folder of videophysics/videophy_2_auto."""
    python: Path = Path(sys.executable)
    """The Python that has VideoPhy-2's requirements."""

    def check(self) -> None:
        """Before a film is rendered for nothing."""
        _check(self.checkout, (INFER_2,), self.weights, "videophy_2_auto")

    def scores(self, film: Path, prompt: str) -> dict[str, float]:
        """Scores of 1 to 5, `semantic` and `physical`, and `joint`: 1 if both are good."""
        self.check()
        found = {name: self._infer(film, prompt, task) for name, task in TASKS_2.items()}
        return {**found, "joint": float(min(found.values()) >= GOOD_2)}

    def _infer(self, film: Path, prompt: str, task: str) -> float:
        with tempfile.TemporaryDirectory() as name:
            films, answers = _film_list(Path(name), film, prompt), Path(name) / "answers.csv"
            told = ("--input_csv", films, "--checkpoint", self.weights.resolve(), "--output_csv", answers)
            run_script(self.python, self.checkout / INFER_2, *told, "--task", task)
            score = _first_score(self.checkout / INFER_2, answers, lambda file: next(csv.DictReader(file))["score"])
        if not 1 <= score <= 5:  # 0 stands for an answer that the script could not read
            raise KinemaError(f"{self.checkout / INFER_2}: gave {score:g} for task {task}, not a score of 1 to 5")
        return score


def _check(checkout: Path, scripts: tuple[Path, ...], weights: Path, name: str) -> None:
    for script in scripts:
        if not (checkout / script).is_file():
            raise KinemaError(f"{checkout}: not a clone of VideoPhy, {script} is missing")
    if not (weights / "config.json").is_file():
        raise KinemaError(f"{weights}: no weights of {name} there, config.json is missing")


def _film_list(folder: Path, film: Path, prompt: str) -> Path:
    """The file that tells the scripts what to look at."""
    with (path := folder / "films.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("videopath", "caption"), (str(film.resolve()), prompt)])
    return path


def _first_score(script: Path, answers: Path, read: Callable[[TextIO], str]) -> float:
    try:
        with answers.open(newline="") as file:
            return float(read(file))
    except (OSError, StopIteration, ValueError, LookupError) as error:
        raise KinemaError(f"{script}: gave no score ({error or 'its file is empty'})") from None


def run_script(python: Path, script: Path, *arguments: object) -> None:
    """Run a judge's own script, in its folder."""
    path = script.resolve()
    command = [str(python), str(path), *map(str, arguments)]
    try:
        done = subprocess.run(command, cwd=path.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise KinemaError(f"{python}: cannot be run ({error.strerror})") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KinemaError(f"{path}: ended with code {done.returncode} ({last})")
