"""A job of a batch and how it ended. Light: the parent of many jobs imports no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

DONE = "report.json"
"""The file that a finished job leaves last."""
FAILED = "failed.json"
"""How a job failed, in its folder."""
BAD_INPUT = (1, 2)
"""Exit codes of a mistake in the input or of wrong usage: trying again would give the same."""
BUG, BUSY, LOST = 70, 75, -9
"""Codes of attempts that met a mistake of ours, could not begin, or whose machine or process is gone."""


@dataclass(frozen=True)
class Job:
    """One unit of work, with a folder that has its key as name."""

    key: str
    """Made from everything that decides the result."""
    title: str
    """For people."""
    lines: tuple[int, ...] = ()
    """Where it stands in the file of jobs; more than one if it was asked for more than once."""
    content: Any = None
    """What its command is made of; it travels to other machines."""
    mistake: str = ""
    """Why it cannot be run at all; empty if it can."""


Command = Callable[[Job, Path], list[str]]
"""Gives the arguments of the process that does a job in its folder, or goes on with it if it was begun there."""


@dataclass(frozen=True)
class Ended:
    """One attempt at a job, over."""

    code: int
    """Exit code of its process; negative: the signal that ended it."""
    message: str
    """The last line that it said."""
    seconds: float
    resumed: bool = False
    """It went on with what an earlier attempt had left."""
    where: str = ""
    """Host and process."""

    @property
    def how(self) -> str:
        """For people."""
        return f"killed by signal {-self.code}" if self.code < 0 else f"ended with code {self.code}"


@runtime_checkable
class Executor(Protocol):
    """Runs attempts at jobs, several at a time."""

    out: Path
    """Folder in which each job has its own, by key."""

    def free(self) -> bool:
        """True if another attempt can be started."""
        ...

    def busy(self) -> bool:
        """True while attempts are running."""
        ...

    def start(self, job: Job) -> None: ...

    def wait(self, seconds: float) -> list[tuple[Job, Ended]]:
        """Attempts that are over; waits for the first of them, but not longer than given."""
        ...

    def stop(self) -> None:
        """End all attempts so that they can be resumed, and let go of everything."""
        ...
