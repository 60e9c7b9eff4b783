"""A job that takes a moment in place of `kinema animate`: it begins, saves its state after each step, and ends.

python small_work.py FOLDER STEPS [SECONDS] [crash|bad|never|full]    `ran.txt` tells which process did which step.
"""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinema.batch.job import Job


def command(job: "Job", folder: Path) -> list[str]:
    return [sys.executable, "-S", __file__, str(folder), *map(str, job.content)]


def jobs(count: int, *content: object) -> list["Job"]:
    from kinema.batch.job import Job

    return [Job(f"job{k:02d}", f"number {k}", (k + 2,), content) for k in range(count)]


def steps_of(folder: Path) -> list[tuple[int, int]]:
    """Process and step, in the order in which they were done."""
    lines = (folder / "ran.txt").read_text().split("\n")
    return [(int(process), int(step)) for process, step in (line.split() for line in lines if line)]


def work(folder: Path, steps: int, seconds: float, how: str) -> None:
    if how == "bad":
        sys.exit("the prompt is empty")
    if how == "full" and not (folder / "room").exists():
        sys.exit(75)
    first = not (folder / "config.json").exists()
    (folder / "config.json").write_text("{}")
    if how == "never" or (how == "crash" and first):
        os.kill(os.getpid(), 9)
    if (folder / "report.json").exists():
        raise RuntimeError("done twice")
    state = folder / "state.txt"
    for step in range(int(state.read_text()) if state.exists() else 0, steps):
        time.sleep(seconds)
        with (folder / "ran.txt").open("a") as file:
            file.write(f"{os.getpid()} {step}\n")
        part = folder / "state.part"
        part.write_text(str(step + 1))
        part.replace(state)
    (folder / "report.json").write_text("{}")


if __name__ == "__main__":
    if sys.argv[1] == "parent":  # a batch of its own, to be killed: parent OUT COUNT STEPS SECONDS
        from kinema.batch.engine import run_jobs
        from kinema.batch.process import Pool

        run_jobs(jobs(int(sys.argv[3]), *sys.argv[4:]), Pool(command, Path(sys.argv[2]), workers=2))
    else:
        folder, steps, *rest = sys.argv[1:]
        work(Path(folder), int(steps), float(rest[0]) if rest else 0.05, rest[1] if rest[1:] else "")
