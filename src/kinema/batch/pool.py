"""Attempts at jobs as processes of this machine, each with its share of the cores."""

import os
import time
from pathlib import Path

from kinema.batch.job import Command, Ended, Job
from kinema.batch.process import Attempt, start

LOOK_SECONDS = 0.05


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """At most `workers` processes at a time (see `Executor`)."""

    def __init__(self, command: Command, out: Path, *, workers: int | None = None) -> None:
        self.command, self.out = command, out
        self.workers = workers or cores()
        # A job on one thread takes about as long as on two: cores are better spent on more jobs.
        self.threads = max(1, cores() // self.workers)
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
