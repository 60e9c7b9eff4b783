"""The judges of VideoPhy and VideoPhy-2 (7B video language models): does a film show the sentence, and obey physics?

Their code needs another transformers than ours and CUDA, so their own scripts load and run them, in their own Python.
VideoPhy's physics disagrees with its own human raters about which models are better: it is never reported alone.
Films are shown without ground, as AKD's were. A call loads the judge once for all its films.
"""

import csv
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TextIO

from kinema.errors import KinemaError
from kinema.options import named

PREPARE = Path("utils/prepare_data.py")
INFER = Path("videocon/training/pipeline_video/entailment_inference.py")
INFER_2 = Path("VIDEOPHY2/inference.py")
Told = tuple[Path, str]
"""A film and the sentence that it should show."""
TASKS_2 = {"semantic": "sa", "physical": "pc"}
"""What VideoPhy-2 calls its questions."""
GOOD_2 = 4.0
"""Score of VideoPhy-2, of 1 to 5, from which on a film counts as good."""


@dataclass(frozen=True)
class VideoPhy:
    """Where the judge is installed."""

    name: ClassVar = "VideoPhy"
    checkout: Path
    """A clone of github.com/Hritikbansal/videophy."""
    weights: Path
    """The folder of videophysics/videocon_physics."""
    python: Path = Path(sys.executable)
    """The Python that has VideoPhy's requirements."""

    def check(self) -> None:
        """Before a film is rendered for nothing."""
        _check(self.checkout, (PREPARE, INFER), self.weights, "videocon_physics")

    def scores(self, films: Sequence[Told]) -> list[dict[str, float]]:
        """Probabilities of "yes": `semantic` (the film shows the sentence) and `physical` (it follows the laws)."""
        self.check()
        with tempfile.TemporaryDirectory() as name:
            folder, listed = Path(name), _film_list(Path(name), films)
            run_script(self.python, self.checkout / PREPARE, "--input_csv", listed, "--output_folder", folder)
            found = {
                question: self._infer(folder / f"{file}_testing.csv", len(films))
                for question, file in (("semantic", "sa"), ("physical", "physics"))
            }
        return _by_film(found)

    def _infer(self, questions: Path, count: int) -> list[float]:
        answers, weights = questions.with_suffix(".answers"), self.weights.resolve()
        told = ("--input_csv", questions, "--output_csv", answers, "--checkpoint", weights, "--batch_size", 1)
        run_script(self.python, self.checkout / INFER, *told)
        return _read_scores(self.checkout / INFER, answers, count, lambda file: [row[-1] for row in csv.reader(file)])


@dataclass(frozen=True)
class VideoPhy2:
    """Where the second judge is installed."""

    name: ClassVar = "VideoPhy-2"
    checkout: Path
    """A clone of github.com/Hritikbansal/videophy."""
    weights: Path
    """The folder of videophysics/videophy_2_auto."""
    python: Path = Path(sys.executable)
    """The Python that has VideoPhy-2's requirements."""

    def check(self) -> None:
        """Before a film is rendered for nothing."""
        _check(self.checkout, (INFER_2,), self.weights, "videophy_2_auto")

    def scores(self, films: Sequence[Told]) -> list[dict[str, float]]:
        """Scores of 1 to 5, `semantic` and `physical`, and `joint`: 1 if both are good."""
        self.check()
        found = _by_film({name: self._infer(films, task) for name, task in TASKS_2.items()})
        return [{**scores, "joint": float(min(scores.values()) >= GOOD_2)} for scores in found]

    def _infer(self, films: Sequence[Told], task: str) -> list[float]:
        script = self.checkout / INFER_2
        with tempfile.TemporaryDirectory() as name:
            listed, answers = _film_list(Path(name), films), Path(name) / "answers.csv"
            told = ("--input_csv", listed, "--checkpoint", self.weights.resolve(), "--output_csv", answers)
            run_script(self.python, script, *told, "--task", task)
            read = lambda file: [row["score"] for row in csv.DictReader(file)]  # noqa: E731
            scores = _read_scores(script, answers, len(films), read)
        for score in scores:
            if not 1 <= score <= 5:  # 0 stands for an answer that the script could not read
                raise KinemaError(f"{script}: gave {score:g} for task {task}, not a score of 1 to 5")
        return scores


@dataclass(frozen=True)
class JudgeOptions:
    """Which of the two judges is asked, and where it is installed."""

    videophy: Annotated[Path | None, named("FOLDER")] = None
    """A clone of VideoPhy (github.com/Hritikbansal/videophy): its judge scores films as well; needs CUDA."""
    videophy_weights: Annotated[Path | None, named("FOLDER")] = None
    """The folder of its weights: videocon_physics, or videophy_2_auto of VideoPhy-2; by default in the clone."""
    videophy_version: Literal["1", "2"] = "1"
    """Which of the two judges of the clone is asked."""
    videophy_python: Annotated[Path | None, named("FILE")] = None
    """The Python that has VideoPhy's requirements; by default this one."""

    def judge(self) -> VideoPhy | VideoPhy2 | None:
        """The judge, if one is named."""
        if self.videophy is None:
            return None
        kind, usual = (VideoPhy2, "videophy_2_auto") if self.videophy_version == "2" else (VideoPhy, "videocon_physics")
        found = kind(
            self.videophy, self.videophy_weights or self.videophy / usual, self.videophy_python or Path(sys.executable)
        )
        found.check()
        return found


NO_JUDGE = JudgeOptions()


def _check(checkout: Path, scripts: tuple[Path, ...], weights: Path, name: str) -> None:
    for script in scripts:
        if not (checkout / script).is_file():
            raise KinemaError(f"{checkout}: not a clone of VideoPhy, {script} is missing")
    if not (weights / "config.json").is_file():
        raise KinemaError(f"{weights}: no weights of {name} there, config.json is missing")


def _film_list(folder: Path, films: Sequence[Told]) -> Path:
    """The file that tells the scripts what to look at."""
    with (path := folder / "films.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("videopath", "caption"), *((str(film.resolve()), text) for film, text in films)])
    return path


def _read_scores(script: Path, answers: Path, count: int, read: Callable[[TextIO], list[str]]) -> list[float]:
    """A score for each film, in their order, which both scripts keep."""
    try:
        with answers.open(newline="") as file:
            found = [float(text) for text in read(file)]
    except (OSError, ValueError, LookupError) as error:
        raise KinemaError(f"{script}: gave no score ({error})") from None
    if len(found) != count:
        raise KinemaError(f"{script}: gave {len(found)} scores of {count} films")
    return found


def _by_film(found: dict[str, list[float]]) -> list[dict[str, float]]:
    """The scores of each film by question."""
    return [dict(zip(found, scores)) for scores in zip(*found.values())]


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
