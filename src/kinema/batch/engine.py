"""`run_jobs`: the one loop that runs many jobs, wherever their processes run.

A job is done when its folder has the last file of its result. What failed as bad input is told in its folder and not
tried again; what crashed or was killed is tried again from its checkpoint, a few times. Nothing else is remembered, so
the same call after any end of this process goes on where it was.
"""

import contextlib
import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from kinema.batch.job import BAD_INPUT, BUSY, DONE, FAILED, Ended, Executor, Job
from kinema.errors import KinemaError
from kinema.files import make_folder, read_json, system_error, write_text
from kinema.job.lock import locked

MANIFEST, LOG = "manifest.jsonl", "batch.log"
PUBLISH_SECONDS = 10.0
"""How often the manifest is written while jobs run."""

State = Literal["waiting", "running", "done", "failed"]


@dataclass
class Entry:
    """What is known of a job: a line of the manifest."""

    key: str
    lines: tuple[int, ...]
    title: str
    state: State = "waiting"
    attempts: int = 0
    resumed: int = 0
    """Attempts that went on with what an earlier one had left."""
    seconds: float = 0.0
    """Time of its attempts in this call."""
    where: str = ""
    code: int | None = None
    message: str = ""


@dataclass
class Batch:
    """All jobs of a call with what is known of them."""

    out: Path
    entries: dict[str, Entry] = field(default_factory=dict)

    def count(self, state: State) -> int:
        return sum(entry.state == state for entry in self.entries.values())

    def failed(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.state == "failed"]


Tell = Callable[[str, Batch], None]
"""Called with each line of the log."""
Publish = Callable[[Batch], None]
"""Called now and then, and at the end, to show what is known."""


def write_manifest(batch: Batch, results: dict[str, dict[str, Any]] | None = None) -> None:
    """One line of JSON per job, in the order of the jobs; `results` by key are what they found."""
    lines = (asdict(entry) | {"result": (results or {}).get(key)} for key, entry in batch.entries.items())
    write_text(batch.out / MANIFEST, "".join(json.dumps(line) + "\n" for line in lines))


def run_jobs(
    jobs: Iterable[Job],
    executor: Executor,
    *,
    done: str = DONE,
    attempts: int = 3,
    retry_failed: bool = False,
    tell: Tell = lambda line, batch: None,
    publish: Publish = write_manifest,
) -> Batch:
    """Run all jobs that are not done yet; failures are recorded and end nothing.

    Args:
        executor: Knows the command of a job and the folder in which each job has its own, by key.
        done: The file that a job writes last.
        attempts: How often a job that crashes is tried.
        retry_failed: Try those again too that failed in an earlier call.
    """
    with locked(make_folder(executor.out)):
        return _Run(executor, done, attempts, tell, publish).all(jobs, retry_failed)


class _Run:
    """The state of one call."""

    def __init__(self, executor: Executor, done: str, attempts: int, tell: Tell, publish: Publish) -> None:
        self.batch, self.executor, self.done, self.attempts = Batch(executor.out), executor, done, attempts
        self.tell, self.publish, self.published = tell, publish, 0.0

    def all(self, jobs: Iterable[Job], retry_failed: bool) -> Batch:
        queue = deque(job for job in jobs if self.waits(job, retry_failed))
        self.say(
            f"{len(self.batch.entries)} jobs: {self.batch.count('done')} done before, {len(queue)} to do,"
            f" {self.batch.count('failed')} that cannot be done"
        )
        try:
            while queue or self.executor.busy():
                while queue and self.executor.free():
                    self.start(queue.popleft(), queue)
                for job, ended in self.executor.wait(1.0):
                    self.over(job, ended, queue)
                if time.monotonic() - self.published > PUBLISH_SECONDS:
                    self.show()
        except BaseException:
            self.executor.stop()
            for entry in self.batch.entries.values():
                entry.state = "waiting" if entry.state == "running" else entry.state
            with contextlib.suppress(KinemaError):  # a full disk must not hide what has happened
                self.show()
                self.say(f"stopped with {self.batch.count('waiting')} jobs to do")
            raise
        self.executor.stop()
        self.show()
        self.say(f"{self.batch.count('done')} done, {self.batch.count('failed')} failed")
        return self.batch

    def waits(self, job: Job, retry_failed: bool) -> bool:
        """Enter a job; True if it has to be run. A key that was entered before is the same job."""
        if job.key in self.batch.entries:
            return False
        folder = self.batch.out / job.key
        entry = self.batch.entries[job.key] = Entry(job.key, job.lines, job.title)
        if (folder / self.done).is_file():
            entry.state = "done"
        elif job.mistake:
            self.fail(entry, Ended(BAD_INPUT[0], job.mistake, 0.0))
        elif (folder / FAILED).is_file() and not retry_failed:
            entry.code, entry.message = _failure(folder / FAILED)
            # What crashed may have had bad luck; bad input stays bad.
            entry.state = "failed" if entry.code in BAD_INPUT else "waiting"
        return entry.state == "waiting"

    def start(self, job: Job, queue: deque[Job]) -> None:
        entry = self.batch.entries[job.key]
        entry.state, entry.attempts = "running", entry.attempts + 1
        try:
            self.executor.start(job)
        except KinemaError as error:
            self.over(job, Ended(BUSY, str(error), 0.0), queue)
        else:
            self.say(f"started, attempt {entry.attempts}", entry)

    def over(self, job: Job, ended: Ended, queue: deque[Job]) -> None:
        entry, folder = self.batch.entries[job.key], self.batch.out / job.key
        entry.seconds, entry.where = round(entry.seconds + ended.seconds, 2), ended.where
        entry.code, entry.message = ended.code, ended.message
        if ended.resumed:
            entry.resumed += 1
            self.say("had resumed from its checkpoint", entry)
        if (folder / self.done).is_file():  # however its process ended: it may be killed after its last file
            entry.state, entry.message = "done", ""
            (folder / FAILED).unlink(missing_ok=True)
            self.say(f"done in {ended.seconds:.1f} s by {ended.where}", entry)
        elif ended.code in BAD_INPUT or entry.attempts >= self.attempts:
            self.fail(entry, ended)
        else:
            entry.state = "waiting"
            queue.append(job)
            self.say(f"{ended.how} ({ended.message or 'no message'}): it will be tried again", entry)

    def fail(self, entry: Entry, ended: Ended) -> None:
        entry.state, entry.code, entry.message = "failed", ended.code, ended.message
        folder = make_folder(self.batch.out / entry.key)
        told: dict[str, Any] = {"code": ended.code, "message": ended.message, "lines": entry.lines}
        write_text(folder / FAILED, json.dumps(told | {"title": entry.title, "attempts": entry.attempts}))
        how = f", {ended.how}" if entry.attempts else ""  # a row that cannot be read was never run
        self.say(f"FAILED{how}: {ended.message}", entry)

    def say(self, text: str, entry: Entry | None = None) -> None:
        """A line of the log."""
        place = "" if entry is None else f"line {', '.join(map(str, entry.lines)) or '-'} {entry.key} {entry.title}: "
        line = f"{place}{text}"
        try:
            with (self.batch.out / LOG).open("a", encoding="utf-8") as file:
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
        except OSError as error:
            raise system_error(f"{self.batch.out / LOG}: cannot be written", error) from None
        self.tell(line, self.batch)

    def show(self) -> None:
        self.published = time.monotonic()
        self.publish(self.batch)


def _failure(path: Path) -> tuple[int | None, str]:
    """Code and message of a failed job; a record that nobody can read is none, and the job is tried again."""
    try:
        found = read_json(path)
        return int(found["code"]), str(found["message"])
    except (KinemaError, KeyError, TypeError, ValueError):
        return None, ""
