"""`kinema collect-poses` and `kinema train-poses`: the data and the training of the pose space."""

import json
from pathlib import Path
from typing import Any

from kinema.cli import stop
from kinema.cli.arguments import check_seed
from kinema.cli.batch import BatchCommand, make_executor, run_with_bar
from kinema.cli.output import Output
from kinema.collect.config import BLOCK_DONE, CollectPoses
from kinema.errors import check_number
from kinema.posespace.config import TrainPoses

GOES_ON = "; the same command goes on from where it was"


def collect_poses(command: CollectPoses, output: Output) -> None:
    from kinema.batch.collect import collect_command, collect_jobs
    from kinema.batch.engine import run_jobs
    from kinema.collect.collect import collect_block
    from kinema.posespace.shards import shards_in

    check_seed(command.seed)
    check_number("--bodies", command.bodies, 1, 10**6)
    check_number("--clips", command.clips, 1, 1000)
    check_number("--block", command.block, 0)
    check_number("--workers", command.workers, 1, 10_000)
    if command.block is not None:
        count = collect_block(command, report=lambda entry: _report(output, entry))
    else:
        place = BatchCommand(Path(), command.out, workers=command.workers, ray=command.ray)
        executor, jobs = make_executor(place, collect_jobs(command), collect_command)
        run_with_bar(jobs, executor, output, run_jobs, done=BLOCK_DONE)
        count = sum(1 for _ in shards_in(command.out))
    output.say(f"{command.out}: {count} bodies", folder=command.out, bodies=count)


def train_poses(command: TrainPoses, output: Output) -> None:
    from kinema.posespace.train import train

    check_seed(command.seed)
    check_number("--minutes", command.minutes, 1e-3, 1e6)
    for name in ("batch", "width", "layers", "heads"):
        check_number(f"--{name}", getattr(command, name), 1)
    try:
        weights = train(command, report=lambda entry: _report(output, entry))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GOES_ON) from None
    output.say(str(weights), file=weights)


def _report(output: Output, entry: dict[str, Any]) -> None:
    stop.check()
    output.hint(json.dumps(entry))
