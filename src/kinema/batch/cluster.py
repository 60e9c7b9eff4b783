"""Attempts at jobs as tasks of Ray, on as many machines as its cluster has.

Ray decides where an attempt runs and tells when a machine is lost. It retries nothing by itself: the engine counts the
attempts, and its log says what was resumed.
"""

import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kinema.batch.job import BUG, BUSY, LOST, Command, Ended, Job
from kinema.batch.process import start
from kinema.batch.store import Store
from kinema.errors import KinemaError, first_line

LOOK_SECONDS = 0.1
COUNT_SECONDS = 5.0
"""How often the cluster is asked for its size."""


def connect(address: str) -> Any:
    """Ray, connected to its cluster; `local` starts one on this machine, `auto` finds the one of this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reports to its makers unless told not to
    try:
        import ray
    except ImportError:
        raise KinemaError("--ray needs Ray: pip install 'kinema[ray]'") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise KinemaError(f"--ray {address}: no cluster there ({first_line(error, 200)})") from None
    return ray


def run_attempt(job: Job, command: Command, out: Path, threads: int, store: Store | None) -> Ended:
    """One attempt on the machine where Ray has put it: the task itself."""
    folder = out / job.key if store is None else store.scratch(job.key)
    begun = time.monotonic()
    try:
        with contextlib.nullcontext() if store is None else store.held(job.key, folder):
            attempt = start(job, command, folder, threads=threads)
            while (ended := attempt.ended()) is None:
                time.sleep(LOOK_SECONDS)
        return ended
    except KinemaError as error:
        return Ended(BUSY, str(error), time.monotonic() - begun, where=here())


def here() -> str:
    """Host and process."""
    return f"{socket.gethostname()}, process {os.getpid()}"


class RayTasks:
    """One task with a process of its own for each attempt (see `Executor`)."""

    def __init__(
        self, command: Command, out: Path, *, address: str = "auto", cpus: float = 1.0, gpus: float = 0.0,
        store: Store | None = None,
    ) -> None:  # fmt: skip
        self.ray, self.out, self.store = connect(address), out.resolve(), store
        self.resources = {"CPU": cpus, "GPU": gpus}
        self.told = (command, self.out, max(1, int(cpus)), store)
        options = {"num_cpus": cpus, "num_gpus": gpus, "max_retries": 0, "scheduling_strategy": "SPREAD"}
        self.task = self.ray.remote(**options)(run_attempt)
        self.running: dict[Any, Job] = {}
        self.room, self.counted = 0, -COUNT_SECONDS

    def free(self) -> bool:
        """Twice as many as can run at once: none of them waits for us, and a cluster that can grow sees the need."""
        if time.monotonic() - self.counted > COUNT_SECONDS:
            self.room, self.counted = max(4, 2 * slots(self.ray, self.resources)), time.monotonic()
        return len(self.running) < self.room

    def busy(self) -> bool:
        return bool(self.running)

    def start(self, job: Job) -> None:
        self.running[self.task.remote(job, *self.told)] = job

    def wait(self, seconds: float) -> list[tuple[Job, Ended]]:
        return collect(self.ray, self.running, seconds, self.store, self.out)

    def stop(self) -> None:
        for reference in self.running:
            # The task's process ends, and its child with it, after leaving nothing half-written.
            self.ray.cancel(reference, force=True)
        self.running.clear()


def slots(ray: Any, resources: dict[str, float]) -> int:
    """How many attempts the cluster can run at once."""
    there = ray.cluster_resources()
    return int(min(there.get(name, 0.0) // need for name, need in resources.items() if need > 0))


def collect(
    ray: Any, running: dict[Any, Job], seconds: float, store: Store | None, out: Path
) -> list[tuple[Job, Ended]]:
    """Attempts that are over, taken out of `running`; their results are brought here."""
    ready, _ = ray.wait(list(running), num_returns=1, timeout=seconds) if running else ([], [])
    over = []
    for reference in ready:
        job = running.pop(reference)
        ended = outcome(ray, lambda reference=reference: ray.get(reference))
        if ended.code == 0 and store is not None:
            try:
                store.pull(job.key, out / job.key)
            except KinemaError as error:
                ended = Ended(BUSY, str(error), ended.seconds, ended.resumed, ended.where)
        over.append((job, ended))
    return over


def outcome(ray: Any, get: Callable[[], Ended]) -> Ended:
    """How an attempt ended, or what became of its machine."""
    try:
        return get()
    except ray.exceptions.RayTaskError as error:  # a mistake of ours in the task itself
        return Ended(BUG, str(error).strip().splitlines()[-1], 0.0)
    except ray.exceptions.RayError as error:  # worker, node or object is gone
        return Ended(LOST, f"{type(error).__name__}: {first_line(error, 1000)}", 0.0)
