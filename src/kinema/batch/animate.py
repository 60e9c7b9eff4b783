"""`kinema animate` as the command of a job, and a whole batch of them with its manifest and its page."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kinema.batch.engine import Batch, Tell, run_jobs, write_manifest
from kinema.batch.job import DONE, Executor, Job
from kinema.batch.key import LENGTH, digest, files_of
from kinema.batch.page import write_page
from kinema.batch.process import CONFIG
from kinema.batch.store import Store
from kinema.create.options import MADE, MADE_HERE
from kinema.distill.config import Animate, command_words
from kinema.files import read_json, write_text

ASSETS = "assets"
"""Where characters lie in a store, each in a folder by its content."""
SHOWN = ("gait", "slide", "hover", "penetration", "jerk", "motion")
"""Metrics that the page shows; the report of a run has all."""


def animate_command(job: Job, folder: Path) -> list[str]:
    """The process that begins a run in the folder, or goes on with it."""
    config: Animate = job.content
    kinema = [sys.executable, "-m", "kinema"]
    if not (folder / CONFIG).is_file():
        return [*kinema, *command_words(replace(config, out=folder))]
    relocate(folder, config)
    return [*kinema, "animate", "--resume", str(folder)]


@dataclass(frozen=True)
class AnimateFromStore:
    """`animate_command` where the character's file is in a store and not on the machine."""

    store: Store

    def __call__(self, job: Job, folder: Path) -> list[str]:
        return animate_command(fetched(job, self.store), folder)


def shipped(job: Job, store: Store) -> Job:
    """Put the character's file of a job into the store; the job then knows it by its place there."""
    files = [] if job.mistake else files_of(job.content.asset)
    if not files:
        return job
    if len(files) > 1:
        return replace(job, mistake=f"{files[0]}: has files beside it; for --store give a .glb (kinema convert)")
    name = f"{ASSETS}/{digest(files)[:LENGTH]}/{files[0].name}"
    store.put(files[0], name)
    return replace(job, content=replace(job.content, asset=name))


def fetched(job: Job, store: Store) -> Job:
    """The job with its character's file on this machine."""
    place, _, name = str(job.content.asset).rpartition("/")
    if not place.startswith(f"{ASSETS}/"):
        return job
    folder = store.scratch(place)
    if not (folder / name).is_file():
        store.pull(place, folder)
    return replace(job, content=replace(job.content, asset=str(folder / name)))


def bring_home(jobs: list[Job], batch: Batch) -> None:
    """Let finished runs that came back from a store find their characters' files on this machine again."""
    for job in jobs:
        if batch.entries[job.key].state == "done" and (batch.out / job.key / CONFIG).is_file():
            relocate(batch.out / job.key, job.content)


def relocate(folder: Path, config: Animate) -> None:
    """Let a run that was begun elsewhere find its character's file here; the key says that it has the same bytes.

    So do the runs of a sequence's parts, in folders below it.
    """
    file = folder / MADE if config.making != MADE_HERE else Path(config.asset)
    asset = str(file.resolve()) if file.is_file() else config.asset
    for path in (folder / CONFIG, *folder.glob(f"*/{CONFIG}")):
        saved = read_json(path)
        if saved["config"]["asset"] != asset:
            saved["config"]["asset"] = asset
            write_text(path, json.dumps(saved, indent=2))


class Published:
    """Writes manifest and page; reads each report once."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.reports: dict[str, dict[str, Any]] = {}

    def __call__(self, batch: Batch) -> None:
        for key, entry in batch.entries.items():
            if entry.state == "done" and key not in self.reports:
                self.reports[key] = summary(batch.out / key / DONE)
        write_manifest(batch, self.reports)
        write_page(batch, self.reports, title=self.title)


def summary(report: Path) -> dict[str, Any]:
    """The few values of a run's report that manifest and page show."""
    found = read_json(report)
    metrics = found.get("metrics", {}) if isinstance(found, dict) else {}
    kept = {name: found[name] for name in ("prompt", "read_as", "verdict", "seconds") if name in found}
    return {**kept, "metrics": {name: metrics[name] for name in SHOWN if name in metrics}}


def run_batch(
    jobs: list[Job], executor: Executor, *, title: str, attempts: int = 3, retry_failed: bool = False, tell: Tell
) -> Batch:
    """Run jobs of `kinema animate`; manifest.jsonl and index.html in the executor's folder show how far they are."""
    return run_jobs(jobs, executor, attempts=attempts, retry_failed=retry_failed, tell=tell, publish=Published(title))
