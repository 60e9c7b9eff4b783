"""VideoPhy's judge (VideoCon-Physics, a 7B video language model): does a film show the sentence, and obey physics?

Its code needs another transformers than ours and CUDA, so its own scripts load and run it, in its own Python.
"""

import csv
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kinema.errors import KinemaError

PREPARE = Path("utils/prepare_data.py")
INFER = Path("videocon/training/pipeline_video/entailment_inference.py")


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
        for script in (PREPARE, INFER):
            if not (self.checkout / script).is_file():
                raise KinemaError(f"{self.checkout}: not a clone of VideoPhy, {script} is missing")
        if not (self.weights / "config.json").is_file():
            raise KinemaError(f"{self.weights}: no weights of videocon_physics there, config.json is missing")

    def scores(self, film: Path, prompt: str) -> dict[str, float]:
        """Probabilities of "yes": `semantic` (the film shows the sentence) and `physical` (it follows the laws)."""
        self.check()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with (folder / "films.csv").open("w", newline="") as file:
                csv.writer(file).writerows([("videopath", "caption"), (str(film.resolve()), prompt)])
            self._run(PREPARE, "--input_csv", folder / "films.csv", "--output_folder", folder)
            return {
                "semantic": self._infer(folder / "sa_testing.csv"),
                "physical": self._infer(folder / "physics_testing.csv"),
            }

    def _infer(self, questions: Path) -> float:
        answers = questions.with_suffix(".answers")
        weights = self.weights.resolve()
        self._run(INFER, "--input_csv", questions, "--output_csv", answers, "--checkpoint", weights, "--batch_size", 1)
        try:
            with answers.open(newline="") as file:
                return float(next(csv.reader(file))[-1])
        except (OSError, StopIteration, ValueError, IndexError) as error:
            raise KinemaError(f"{self.checkout / INFER}: gave no score ({error or 'its file is empty'})") from None

    def _run(self, script: Path, *arguments: object) -> None:
        path = (self.checkout / script).resolve()
        command = [str(self.python), str(path), *map(str, arguments)]
        try:
            done = subprocess.run(command, cwd=path.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except OSError as error:
            raise KinemaError(f"{self.python}: cannot be run ({error.strerror})") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise KinemaError(f"{path}: ended with code {done.returncode} ({last})")
