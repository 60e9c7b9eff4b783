"""`kinema train-prior`, `train-poses`, and what they learn from: `make-clips`, `collect-poses`."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinema.cli import stop
from kinema.cli.arguments import SEEDS, check_ranges
from kinema.cli.batch import BatchCommand, check_failed, make_executor, run_with_bar
from kinema.cli.output import Output
from kinema.collect.config import BLOCK_DONE, CollectPoses
from kinema.files import read_json
from kinema.posespace.config import TrainPoses
from kinema.prior.nano.config import CLIPS_DONE, MakeClips, TrainPrior

if TYPE_CHECKING:
    from kinema.batch.engine import Batch
    from kinema.batch.job import Job


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
    from kinema.batch.blocks import collect_jobs
    from kinema.collect.collect import collect_block
    from kinema.posespace.shards import shards_in

    counts = {"bodies": (1, 10**6), "clips": (1, 1000), "block": (0, math.inf), "workers": (1, 10_000)}
    check_ranges(command, seed=SEEDS, **counts)
    if command.block is not None:
        count = collect_block(command, report=partial(_report, output))
    else:
        _make_blocks(command, collect_jobs(command), output, done=BLOCK_DONE)
        count = sum(1 for _ in shards_in(command.out))
    output.say(f"{command.out}: {count} bodies", folder=command.out, bodies=count)


def make_clips(command: MakeClips, output: Output) -> None:
    from kinema.batch.blocks import clip_jobs
    from kinema.prior.nano.data import make_block

    counts = {"shards": (1, 10**6), "block": (0, math.inf), "workers": (1, 10_000)}
    check_ranges(command, seed=SEEDS, **counts)
    if command.block is not None:
        count = len(make_block(command))
    else:
        batch = _make_blocks(command, clip_jobs(command), output, done=CLIPS_DONE)
        count = sum(len(read_json(batch.out / key / CLIPS_DONE)) for key in batch.entries)
    output.say(f"{command.out}: {count} shards", folder=command.out, shards=count)


def _make_blocks(command: CollectPoses | MakeClips, jobs: "list[Job]", output: Output, *, done: str) -> "Batch":
    """Run the blocks that are missing, wherever the command says; an error if some cannot be made."""
    from kinema.batch.blocks import block_command
    from kinema.batch.engine import run_jobs

    place = BatchCommand(Path(), command.out, workers=command.workers, ray=command.ray)
    executor, jobs = make_executor(place, jobs, block_command)
    batch = run_with_bar(jobs, executor, output, run_jobs, done=done)
    check_failed(batch, "blocks")
    return batch


def _report(output: Output, entry: dict[str, Any]) -> None:
    stop.check()
    output.hint(json.dumps(entry))
