"""`kinema eval suite`: the characters and prompts of the evaluation, by both methods, as films and tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kinema.cli.arguments import OutFolder
from kinema.cli.batch import BatchCommand, make_executor, run_with_bar
from kinema.cli.output import Output
from kinema.distill.config import Preset
from kinema.errors import KinemaError, check_number
from kinema.options import named


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


def eval_suite(command: EvalSuiteCommand, output: Output) -> None:
    from kinema.batch.animate import animate_command, run_batch
    from kinema.batch.suite import TABLE, Suite, film, judge_runs, tabulate
    from kinema.evaluate.suite import CHARACTERS, MOTIONS

    check_number("--seeds", command.seeds, 1, 1000)
    for word in command.set:
        if "=" not in word:
            raise KinemaError(f"--set {word}: write NAME=VALUE, such as splats=1000")
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
    table = tabulate(jobs, done)
    output.say(f"{table}\n{command.out / TABLE}", file=command.out / TABLE, done=done.count("done"))
