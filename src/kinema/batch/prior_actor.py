"""Attempts at jobs in processes that keep a large video model loaded: one actor of Ray per GPU.

Loading a model of ten billion parameters takes longer than many a clip. An actor holds one and runs job after job with
it; if the actor dies Ray makes a new one, and the engine tries the job again from its checkpoint.
"""

import contextlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from kinema.batch.animate import fetched, relocate
from kinema.batch.cluster import collect, connect, here, slots
from kinema.batch.job import BAD_INPUT, BUG, BUSY, Ended, Job
from kinema.batch.process import CONFIG, await_lock
from kinema.batch.store import Store
from kinema.distill.config import resolve
from kinema.errors import KinemaError, MachineError
from kinema.files import make_folder

PLACEMENT = ("prior", "device", "quantize", "offload", "tiling", "tiny_encoder", "video_size")
"""Options of a job that say which prior it wants and where."""


class PriorActor:
    """A process with a video model (an actor's class)."""

    def __init__(self, out: Path, store: Store | None) -> None:
        self.out, self.store = out, store
        self.wanted: tuple[Any, ...] | None = None
        self.prior: Any = None
        self.loads = 0

    def run(self, job: Job) -> Ended:
        """One attempt, with the model that the last job had if this one wants the same."""
        from kinema.job.folder import load_named_prior
        from kinema.job.folder import run as run_in_folder

        begun = time.monotonic()
        folder = self.out / job.key if self.store is None else self.store.scratch(job.key)
        resumed = False
        try:
            with contextlib.nullcontext() if self.store is None else self.store.held(job.key, folder):
                job = job if self.store is None else fetched(job, self.store)
                await_lock(make_folder(folder))
                resumed = (folder / CONFIG).is_file()
                config = resolve(job.content)
                wanted = tuple(getattr(config, name) for name in PLACEMENT)
                if wanted != self.wanted:
                    self.prior = None  # two of them may not fit
                    self.prior, self.wanted, self.loads = load_named_prior(config), wanted, self.loads + 1
                if resumed:
                    relocate(folder, job.content)
                place = {"resume": folder} if resumed else {"out": folder}
                run_in_folder(replace(job.content, **place), prior=self.prior)
            code, message = 0, ""
        except KinemaError as error:
            code, message = BUSY if isinstance(error, MachineError) else BAD_INPUT[0], str(error)
        except Exception as error:
            code, message = BUG, f"{type(error).__name__}: {error}"
        where = f"{here()}, {self.loads} models loaded so far"
        return Ended(code, message, time.monotonic() - begun, resumed, where)


class PriorActors:
    """As many actors as the cluster has room for (see `Executor`)."""

    def __init__(
        self, out: Path, *, address: str = "auto", cpus: float = 1.0, gpus: float = 1.0, workers: int | None = None,
        store: Store | None = None,
    ) -> None:  # fmt: skip
        self.ray, self.out, self.store = connect(address), out.resolve(), store
        count = workers or slots(self.ray, {"CPU": cpus, "GPU": gpus})
        if count < 1:
            raise KinemaError(f"--ray {address}: the cluster has no room for {cpus:g} CPUs and {gpus:g} GPUs per job")
        made = self.ray.remote(num_cpus=cpus, num_gpus=gpus, max_restarts=-1)(PriorActor)
        self.idle = [made.remote(self.out, store) for _ in range(count)]
        self.working: dict[Any, Any] = {}
        self.running: dict[Any, Job] = {}

    def free(self) -> bool:
        return bool(self.idle)

    def busy(self) -> bool:
        return bool(self.running)

    def start(self, job: Job) -> None:
        actor = self.idle.pop()
        reference = actor.run.remote(job)
        self.running[reference], self.working[reference] = job, actor

    def wait(self, seconds: float) -> list[tuple[Job, Ended]]:
        over = collect(self.ray, self.running, seconds, self.store, self.out)
        for reference in [each for each in self.working if each not in self.running]:
            self.idle.append(self.working.pop(reference))
        return over

    def stop(self) -> None:
        for actor in (*self.idle, *self.working.values()):
            self.ray.kill(actor)
        self.idle, self.working, self.running = [], {}, {}
