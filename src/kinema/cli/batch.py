"""`kinema batch` and `kinema eval suite`: many jobs of `kinema animate`, with progress over all of them."""

import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from kinema.cli import stop
from kinema.cli.arguments import OutFolder, check_ranges
from kinema.cli.output import Output
from kinema.distill.config import Preset
from kinema.errors import KinemaError
from kinema.evaluate.videophy import NO_JUDGE, JudgeOptions
from kinema.options import Flag, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinema.batch.engine import Batch
    from kinema.batch.job import Command, Executor, Job


@dataclass(frozen=True)
class BatchCommand:
    """Run many jobs of `kinema animate`. The same command goes on with what is not done, whatever ended it."""

    jobs: Annotated[tyro.conf.Positional[Path], named("JOBS")]
    """A .csv or .toml file: a row per job, columns are the options of `kinema animate` (asset, prompt, seed ...)."""
    out: OutFolder
    """Folder for all results: one folder per job, manifest.jsonl, index.html and batch.log."""
    workers: Annotated[int | None, named("INT")] = None
    """Processes at a time on this machine, by default one per core; with --keep-prior, models in the cluster."""
    attempts: int = 3
    """How often a job is tried that crashes or is killed; it goes on from its checkpoint."""
    retry_failed: Flag = False
    """Try those again too that an earlier call recorded as bad input."""
    ray: Annotated[str | None, named("ADDRESS")] = None
    """Run on a Ray cluster: its address, `auto` for the one of this machine, `local` to start one here."""
    cpus: float = 1.0
    """Cores that a job takes of the cluster."""
    gpus: float = 0.0
    """GPUs that a job takes of the cluster; 0.5 lets two share one."""
    keep_prior: Flag = False
    """Keep a large video model loaded from job to job: one process per GPU instead of one per job (with --ray)."""
    store: Annotated[str | None, named("URL")] = None
    """Storage that all machines reach (s3://..., gs://..., file://...), if they do not share FOLDER (with --ray)."""


def batch(command: BatchCommand, output: Output) -> None:
    from kinema.batch.animate import animate_command, bring_home, run_batch
    from kinema.batch.rows import read_jobs

    check_ranges(command, workers=(1, 10_000), attempts=(1, 100), cpus=(0.01, 1000), gpus=(0, 100))
    jobs = read_jobs(command.jobs)
    executor, told = make_executor(command, jobs, animate_command)
    options: dict[str, Any] = {"attempts": command.attempts, "retry_failed": command.retry_failed}
    done = run_with_bar(told, executor, output, run_batch, title=command.jobs.name, **options)
    if command.store is not None:
        bring_home(jobs, done)
    finish(done, output)


def run_with_bar(
    jobs: "list[Job]", executor: "Executor", output: Output, run: "Callable[..., Batch]", **options: Any
) -> "Batch":
    """Run jobs with a bar over all of them; an interrupted batch says how to go on."""
    try:
        with JobsBar(quiet=output.silent) as bar:
            return run(jobs, executor, tell=bar.tell, **options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("; the same command goes on with what is not done") from None


def make_executor(command: BatchCommand, jobs: "list[Job]", work: "Command") -> "tuple[Executor, list[Job]]":
    """What runs the jobs by the command `work`, and the jobs as it knows them; storages and priors are `animate`'s."""
    from kinema.batch.animate import AnimateFromStore, shipped

    if command.ray is None:
        from kinema.batch.process import Pool

        if command.store is not None or command.keep_prior:
            raise KinemaError("--store and --keep-prior are for --ray: on one machine the folder itself is shared")
        return Pool(work, command.out, workers=command.workers), jobs
    from kinema.batch.cluster import RayTasks
    from kinema.batch.prior_actor import PriorActors
    from kinema.batch.store import Store

    store = None if command.store is None else Store(command.store)
    jobs = jobs if store is None else [shipped(job, store) for job in jobs]
    place: dict[str, Any] = {"address": command.ray, "cpus": command.cpus, "gpus": command.gpus, "store": store}
    if command.keep_prior:
        return PriorActors(command.out, workers=command.workers, **place), jobs
    return RayTasks(work if store is None else AnimateFromStore(store), command.out, **place), jobs


def finish(done: "Batch", output: Output) -> None:
    """Say what came out."""
    lines = [f"{done.out / 'index.html'}: {done.count('done')} of {len(done.entries)} jobs done"]
    entries = [asdict(entry) for entry in done.entries.values()]
    output.say("\n".join(lines), folder=done.out, done=done.count("done"), jobs=entries)
    check_failed(done, "jobs")


def check_failed(done: "Batch", what: str) -> None:
    """Jobs that failed make the exit code 1, after all others are done."""
    if failed := done.failed():
        lines = ", ".join(str(line) for entry in failed for line in entry.lines[:1])
        where = f"lines {lines}" if lines else failed[0].title
        raise KinemaError(
            f"{done.out}: {len(failed)} of {len(done.entries)} {what} failed ({where}); the first: {failed[0].message}"
        )


class JobsBar:
    """One bar over all jobs on a terminal; elsewhere each line of the log."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet, self.live = quiet, sys.stderr.isatty() and not quiet

    def __enter__(self) -> "JobsBar":
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            note = TextColumn("{task.fields[note]}")
            self.rich = Progress(
                TextColumn("jobs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), note,
                console=Console(stderr=True),
            )  # fmt: skip
            self.task = self.rich.add_task("jobs", total=None, note="")
            self.rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.rich.stop()

    def tell(self, line: str, batch: "Batch") -> None:
        stop.check()
        if self.quiet:
            return
        over = batch.count("done") + batch.count("failed")
        if not self.live:
            print(f"{time.strftime('%H:%M:%S')} {over}/{len(batch.entries)} {line}", file=sys.stderr, flush=True)
            return
        running = f"{batch.count('running')} running, {batch.count('failed')} failed"
        self.rich.update(self.task, completed=over, total=len(batch.entries), note=running)
        if "FAILED" in line or "tried again" in line or "resumed" in line:
            self.rich.console.print(line, markup=False, highlight=False)


@dataclass(frozen=True)
class EvalSuiteCommand:
    """Run 29 characters and their prompts, with joints and with the field baseline. The same command goes on."""

    out: OutFolder
    """Folder for all runs, films, suite.md, suite.json and sheet.jpg."""
    characters: Annotated[tuple[str, ...], named("NAME")] = ()
    """Only these of the suite's characters; by default all 29."""
    motions: Annotated[tuple[str, ...], named("NAME")] = ()
    """Only these of walk, run, jump, dance and punch (the last three are for humanoids)."""
    seeds: int = 2
    """Runs of each, with the seeds 0, 1 ..."""
    preset: Preset = "default"
    """Preset of `kinema animate`; all runs have it."""
    set: Annotated[tuple[str, ...], named("NAME=VALUE")] = ()
    """Further options of `kinema animate` for all runs, such as splats=1000 physics-iterations=60."""
    workers: Annotated[int | None, named("INT")] = None
    """Processes at a time on this machine, by default one per core."""
    ray: Annotated[str | None, named("ADDRESS")] = None
    """Run on a Ray cluster, as in `kinema batch`."""
    films: bool = True
    """Film all runs without ground too, for judges and for `kinema study`."""
    judge: tyro.conf.OmitArgPrefixes[JudgeOptions] = NO_JUDGE
    """Who else scores the films."""


def eval_suite(command: EvalSuiteCommand, output: Output) -> None:
    from kinema.batch.animate import animate_command, run_batch
    from kinema.batch.suite import TABLE, Suite, ask, film, judge_runs, tabulate
    from kinema.evaluate.suite import CHARACTERS, MOTIONS

    check_ranges(command, seeds=(1, 1000), workers=(1, 10_000))
    for word in command.set:
        if "=" not in word:
            raise KinemaError(f"--set {word}: write NAME=VALUE, such as splats=1000")
    judge = command.judge.judge()
    if judge is not None and not command.films:
        raise KinemaError(f"--videophy {command.judge.videophy}: scores films, and --no-films makes none")
    options = dict(word.split("=", 1) for word in command.set)
    characters, motions = command.characters or CHARACTERS, command.motions or tuple(MOTIONS)
    suite = Suite(characters, motions, command.seeds, command.preset, options)
    executor, jobs = make_executor(
        BatchCommand(Path(), command.out, workers=command.workers, ray=command.ray), suite.jobs(), animate_command
    )
    done = run_with_bar(jobs, executor, output, run_batch, title="suite")
    judge_runs(jobs, done)
    if command.films:
        film(jobs, done)
    if judge is not None:
        ask(judge, jobs, done)
    table = tabulate(jobs, done)
    output.say(f"{table}\n{command.out / TABLE}", file=command.out / TABLE, done=done.count("done"))
    check_failed(done, "runs")
