"""Attempts at jobs as processes of this machine: a share of the cores, a log, and an end when their parent ends."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kinema.batch.job import Command, Ended, Job
from kinema.errors import KinemaError
from kinema.files import make_folder
from kinema.job.lock import LOCK as RUN_LOCK
from kinema.job.lock import clear_lock

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
LOG = "log.txt"
"""What the processes of a job said, one attempt after the other."""
CONFIG = "config.json"
"""A folder that has it was begun."""
PATIENCE = 60.0
"""How long to wait for the process of an earlier attempt to leave the folder, and for one to obey SIGTERM [s]."""
TAIL = 4000
"""Bytes at the end of a log in which the last line is looked for."""
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Attempt:
    """A running process."""

    process: subprocess.Popen
    log: Path
    begun: float
    resumed: bool

    def ended(self) -> Ended | None:
        """How it ended; None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        where = f"{socket.gethostname()}, process {self.process.pid}"
        return Ended(code, last_line(self.log), time.monotonic() - self.begun, self.resumed, where)

    def stop(self) -> None:
        """Ask it to end; `kinema` then leaves nothing half-written."""
        if self.process.poll() is None:
            self.process.terminate()

    def wait_or_kill(self, seconds: float = PATIENCE) -> None:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(job: Job, command: Command, folder: Path, *, threads: int) -> Attempt:
    """Begin the job in its folder, or go on with it."""
    make_folder(folder)
    await_lock(folder)
    resumed = (folder / CONFIG).is_file()
    log = folder / LOG
    environment = os.environ | {name: str(threads) for name in THREADS}
    words = command(job, folder)
    try:
        with log.open("ab") as file:
            # A session of its own: a Ctrl-C in the terminal is for the parent, which stops its children in order.
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment,
                start_new_session=True, preexec_fn=end_with_parent(),
            )  # fmt: skip
    except OSError as error:
        raise KinemaError(f"{words[0]}: cannot be started ({error.strerror or error})") from None
    return Attempt(process, log, time.monotonic(), resumed)


def await_lock(folder: Path, seconds: float = PATIENCE) -> None:
    """Wait until no process works in the folder, or in those of a sequence's parts below it.

    Who starts an attempt holds the batch's own lock, so a lock of this folder is that of an attempt which is about to
    end, because its parent or its machine has; of a machine that is gone only the file is left.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            for place in (folder, *(path.parent for path in folder.glob(f"*/{RUN_LOCK}"))):
                clear_lock(place)
            return
        except KinemaError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def end_with_parent() -> Callable[[], None] | None:
    """What a child calls before its program starts, so that it is terminated when its parent is killed (Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    library, parent = ctypes.CDLL(None), os.getpid()  # loaded here: the child may not take locks

    def call() -> None:
        library.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(128 + signal.SIGTERM)

    return call


def last_line(log: Path) -> str:
    """What was said last."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return str(error)
    return next((line.strip().removeprefix("kinema: ") for line in reversed(lines) if line.strip()), "")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_threads() -> int:
    """Threads that a process may have: as many as there are cores, or as the user's environment allows."""
    given = [os.environ.get(name, "") for name in THREADS]
    return min((int(value) for value in given if value.isdigit() and int(value)), default=cores())


class Pool:
    """At most `workers` processes at a time (see `Executor`)."""

    def __init__(self, command: Command, out: Path, *, workers: int | None = None) -> None:
        self.command, self.out = command, out
        self.workers = workers or cores()
        # A job on one thread takes about as long as on two: cores are better spent on more jobs.
        self.threads = max(1, min(cores() // self.workers, most_threads()))
        self.running: dict[str, tuple[Job, Attempt]] = {}

    def free(self) -> bool:
        return len(self.running) < self.workers

    def busy(self) -> bool:
        return bool(self.running)

    def start(self, job: Job) -> None:
        self.running[job.key] = job, start(job, self.command, self.out / job.key, threads=self.threads)

    def wait(self, seconds: float) -> list[tuple[Job, Ended]]:
        end = time.monotonic() + seconds
        while True:
            found = [(job, attempt.ended()) for job, attempt in self.running.values()]
            over = [(job, ended) for job, ended in found if ended is not None]
            for job, _ in over:
                del self.running[job.key]
            if over or time.monotonic() >= end:
                return over
            time.sleep(LOOK_SECONDS)

    def stop(self) -> None:
        attempts = [attempt for _, attempt in self.running.values()]
        try:
            for attempt in attempts:
                attempt.stop()
            for attempt in attempts:
                attempt.wait_or_kill()
        finally:  # a second Ctrl-C does not wait
            for attempt in attempts:
                attempt.process.kill()
            self.running.clear()
