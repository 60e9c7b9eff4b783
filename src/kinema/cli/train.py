"""`kinema train-prior`, `collect-poses`, `train-poses`: what is learned, with its log on standard error."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kinema.cli import stop
from kinema.cli.arguments import SEEDS, check_ranges
from kinema.cli.batch import BatchCommand, make_executor, run_with_bar
from kinema.cli.output import Output
from kinema.collect.config import BLOCK_DONE, CollectPoses
from kinema.posespace.config import TrainPoses
from kinema.prior.nano.config import TrainPrior


def train_prior(command: TrainPrior, output: Output) -> None:
    from kinema.prior.nano.train import train

    counts = ("shards", "reuse", "ahead", "batch", "ranks", "width", "layers", "heads")
    _train(command, output, train, counts)


def train_poses(command: TrainPoses, output: Output) -> None:
    from kinema.posespace.train import train

    _train(command, output, train, ("batch", "width", "layers", "heads"))


def _train(command: Any, output: Output, train: Callable[..., Path], counts: tuple[str, ...]) -> None:
    """Train, once the options of a training are checked: its time, its seed and those that count something."""
    check_ranges(command, minutes=(1e-3, 1e6), seed=SEEDS, **dict.fromkeys(counts, (1, math.inf)))
    try:
        weights = train(command, report=partial(_report, output))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("; the same command goes on from the last checkpoint") from None
    output.say(str(weights), file=weights)


def collect_poses(command: CollectPoses, output: Output) -> None:
    from kinema.batch.collect import collect_command, collect_jobs
    from kinema.batch.engine import run_jobs
    from kinema.collect.collect import collect_block
    from kinema.posespace.shards import shards_in

    counts = {"bodies": (1, 10**6), "clips": (1, 1000), "block": (0, math.inf), "workers": (1, 10_000)}
    check_ranges(command, seed=SEEDS, **counts)
    if command.block is not None:
        count = collect_block(command, report=partial(_report, output))
    else:
        place = BatchCommand(Path(), command.out, workers=command.workers, ray=command.ray)
        executor, jobs = make_executor(place, collect_jobs(command), collect_command)
        run_with_bar(jobs, executor, output, run_jobs, done=BLOCK_DONE)
        count = sum(1 for _ in shards_in(command.out))
    output.say(f"{command.out}: {count} bodies", folder=command.out, bodies=count)


def _report(output: Output, entry: dict[str, Any]) -> None:
    stop.check()
    output.hint(json.dumps(entry))
