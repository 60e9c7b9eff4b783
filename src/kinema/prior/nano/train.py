"""`kinema train-prior`: makes clips in the background, trains on them, checkpoints, resumes.

Step s may use the first `ready(s)` shards and waits where the maker has not come that far, so the batches depend on
the seed alone and not on the speed of the machine. With several ranks each process takes batches of its own, and all
of them step with the mean of the gradients.
"""

import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, astuple, dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from kinema.asset.load import existing_file
from kinema.errors import KinemaError
from kinema.files import make_folder
from kinema.gait.takes import performers
from kinema.learn.training import (
    descend,
    first_average,
    make_optimizers,
    model_tensors,
    restore_optimizers,
    training_tensors,
)
from kinema.prior.nano.config import TrainPrior
from kinema.prior.nano.data import make_shards
from kinema.prior.nano.missed import QUIET, ways_missed
from kinema.prior.nano.model import Conditions, Nano, signal_noise
from kinema.prior.nano.prior import FAST_BFLOAT16, NanoPrior, save_weights
from kinema.prior.nano.shards import SHARD, find_shard, motions_table, told_batch
from kinema.tensor_files import load_tensors, save_tensors

NOTHING = 0.08
"""Share of clips of which nothing is told: the model that guidance compares with."""
UNTOLD, UNPACED, UNWORDED, ANY_VARIANT = 0.15, 0.12, 0.04, 0.2
"""Shares of the others of which neither phase, pace nor side is told, of which the speed is not told, without words,
and without a variant."""
ANY_UNTOLD = 0.6
"""Share without a variant of those of which neither phase nor pace is told: who names the motion of a clip knows
neither."""
OTHERS = 0.25
"""Learning rate of embeddings and modulations relative to that of the matrices, which bear a high one."""
CHECKPOINT, HEADER = "checkpoint.safetensors", "run"
"""File to go on from, and the key of its header."""
Report = Callable[[dict[str, float]], None]


@dataclass
class Run:
    """State of a training, which a checkpoint holds."""

    model: Nano
    average: dict[str, Tensor]
    """Moving average of the model's weights."""
    optimizers: list[torch.optim.Optimizer]
    step: int = 0
    seconds: float = 0.0

    @staticmethod
    def begin(model: Nano) -> "Run":
        precision = torch.bfloat16 if FAST_BFLOAT16 else torch.float32
        return Run(model, first_average(model), make_optimizers(model, precision))


def train(config: TrainPrior, *, report: Report = lambda _: None) -> Path:
    """Run until the minutes are used up; returns the weights' path."""
    if config.start_from is not None:
        existing_file(config.start_from)
    make_folder(config.out)
    report({"shards_to_wait_for": float(config.ahead)})
    data, context = config.out / "data", multiprocessing.get_context("spawn")
    makers, others = [], []
    for index in range(config.makers):
        args = (data, range(index, config.shards, config.makers), config.seed, config.shared)
        makers.append(context.Process(target=make_shards, args=args, daemon=True))
        makers[-1].start()
    try:
        _wait_for(data, range(config.ahead), makers)
        if config.ranks == 1:
            return _train(config, data, makers, report)
        # Two single-threaded processes do twice the work of one; two threads in one process do half as much again.
        with tempfile.TemporaryDirectory() as meeting:
            for rank in range(1, config.ranks):
                others.append(context.Process(target=_other_rank, args=(config, rank, meeting), daemon=True))
                others[-1].start()
            join_ranks(config, 0, meeting)
            try:
                return _train(config, data, makers, report)
            except RuntimeError as error:
                lost = [rank + 1 for rank, process in enumerate(others) if not process.is_alive()]
                if not lost:
                    raise
                raise KinemaError(f"{config.out}: rank {lost[0]} of {config.ranks} ended early ({error})") from None
            finally:
                dist.destroy_process_group()
    finally:
        for process in (*makers, *others):
            process.terminate()


def join_ranks(config: TrainPrior, rank: int, meeting: str) -> None:
    """Make this process rank number `rank`; all of them meet in the folder `meeting`."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{meeting}/ranks", config.ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=config.ranks)


def _other_rank(config: TrainPrior, rank: int, meeting: str) -> None:
    join_ranks(config, rank, meeting)
    _train(config, config.out / "data", [], lambda _: None)


def _train(config: TrainPrior, data: Path, makers: list[BaseProcess], report: Report) -> Path:
    rank = dist.get_rank() if config.ranks > 1 else 0
    run = resume(config)
    log = (config.out / "log.jsonl").open("a")
    last_save, known = time.monotonic(), 0
    while run.seconds < config.minutes * 60:
        ready = _shards_in_use(config, run.step)
        _wait_for(data, range(known, ready), makers)
        known = ready
        begun = time.monotonic()  # time spent waiting for data is not training time
        loss = step(config, run, data, ready)
        loss, seconds = _mean_over_ranks(config, torch.tensor([loss, time.monotonic() - begun])).tolist()
        run.seconds += seconds
        run.step += 1
        if rank:
            continue
        if run.step % 20 == 0:
            entry = {"step": run.step, "seconds": round(run.seconds, 1), "loss": round(loss, 5), "shards": ready}
            log.write(json.dumps(entry) + "\n")
            log.flush()
            report(entry)
        if time.monotonic() - last_save > config.checkpoint_minutes * 60:
            save(config, run, data)
            last_save = time.monotonic()
    return config.out if rank else save(config, run, data, last=True)


def _shards_in_use(config: TrainPrior, step: int) -> int:
    """How many of the first shards a step draws from, so that a clip is seen `reuse` times on average."""
    return min(config.shards, config.ahead + int(step * config.batch * config.ranks / (config.reuse * SHARD)))


def _mean_over_ranks(config: TrainPrior, values: Tensor) -> Tensor:
    if config.ranks > 1:
        dist.all_reduce(values)
        values /= config.ranks
    return values


def step(config: TrainPrior, run: Run, data: Path, ready: int) -> float:
    """One step on a batch from the first `ready` shards; returns its loss."""
    rank = (dist.get_rank(),) if config.ranks > 1 else ()
    rng = np.random.default_rng((config.seed, run.step, *rank))
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    clean, given = _batch(config, data, ready, rng)
    n = len(clean)
    t = (torch.arange(n) + torch.rand(n, generator=generator)) / n  # stratified over the batch
    t = 0.99 - 0.97 * t**2  # at high noise the words decide; at low noise the clip shows what it is
    noise = torch.randn(clean.shape, generator=generator)
    alpha, sigma = (s[:, None, None] for s in signal_noise(t))
    with torch.autocast("cpu", torch.bfloat16, enabled=FAST_BFLOAT16):
        predicted = run.model(alpha * clean + sigma * noise, t, given)
    missing = (predicted.float() - (alpha * noise - sigma * clean)).square() * given.covered
    cells = given.covered.sum((1, 2)).clamp(min=1)
    weight = 1 / (QUIET + clean.square().sum((1, 2)) / cells)
    loss = (weight * missing.sum((1, 2)) / cells).sum() / weight.sum()
    loss.backward()
    if config.ranks > 1:
        gradients = [p.grad for p in run.model.parameters() if p.grad is not None]
        mean = _mean_over_ranks(config, torch.cat([g.flatten() for g in gradients]))
        for gradient, values in zip(gradients, mean.split([g.numel() for g in gradients])):
            gradient.copy_(values.view_as(gradient))
    progress, rates = (
        run.seconds / (config.minutes * 60),
        {"rate": config.rate, "decay": config.average, "others": OTHERS},
    )
    descend(run.model, run.optimizers, run.average, step=run.step, progress=progress, **rates)
    return float(loss.detach())


def _batch(config: TrainPrior, data: Path, ready: int, rng: np.random.Generator) -> tuple[Tensor, Conditions]:
    """Latents of random clips and what the model is told of them."""
    latents, given = told_batch(data, np.sort(rng.integers(0, ready * SHARD, config.batch)))
    # What is told is left out often, and the speed alone too, so that the words decide.
    any_, told, words, which = (torch.from_numpy(rng.random((len(latents), 1))).float() for _ in range(4))
    some = (any_ > NOTHING).float()
    known = some * (told > UNTOLD)
    paced = some * (told > UNTOLD + UNPACED)
    motion = given.motion * torch.cat((*[known] * 3, paced, known, paced, known), -1)
    any_variant = torch.where(told > UNTOLD, ANY_VARIANT, ANY_UNTOLD)
    chosen = given.variant * (some * (which > any_variant))[:, 0].long()
    return latents, replace(given, text=given.text * some * (words > UNWORDED), variant=chosen, motion=motion)


def resume(config: TrainPrior) -> Run:
    """The run in the folder as it was saved, or a new one: from `start_from`, or from random weights."""
    path = config.out / CHECKPOINT
    start = path if path.is_file() else config.start_from
    if start is None:
        return Run.begin(_network(config, torch.Generator().manual_seed(config.seed)))
    run = _start(config, start)
    if start != path:
        run.step, run.seconds = 0, 0.0
    return run


def _start(config: TrainPrior, start: Path) -> Run:
    """The run of a checkpoint, or a new one with finished weights."""
    try:
        tensors, header = load_tensors(start, key=HEADER)
    except ValueError:
        prior = NanoPrior.load(start)  # finished weights, or an error that says what the file is not
        return Run.begin(prior.model.requires_grad_(True))
    model = _network(config)
    try:
        model.load_state_dict(model_tensors(tensors))
    except RuntimeError:
        raise KinemaError(f"{start}: was trained with other sizes than width {config.width}") from None
    run = Run.begin(model)
    run.average = model_tensors(tensors, "average")
    restore_optimizers(run.optimizers, tensors)
    run.step, run.seconds = header["step"], header["seconds"]
    return run


def save(config: TrainPrior, run: Run, data: Path, *, last: bool = False) -> Path:
    """Write the checkpoint to go on from, and the averaged weights that are shipped; returns the weights' path.

    The `last` ones are told how well they know each way of doing a motion, which takes a minute or two.
    """
    tensors = training_tensors(run.model, run.average, run.optimizers)
    header = {"step": run.step, "seconds": run.seconds}
    save_tensors(config.out / CHECKPOINT, tensors, header=header, key=HEADER)
    averaged = _network(config)
    averaged.load_state_dict(run.average)
    options = {k: v.name if isinstance(v, Path) else v for k, v in asdict(config).items()}
    who = performers(config.shared) if config.shared is not None else {}
    shards = range(_shards_in_use(config, run.step))
    motions = motions_table(data, shards, who, ways_missed(averaged, data, shards) if last else {})
    note = {"steps": run.step, "seconds": run.seconds, "config": options, "motions": [astuple(m) for m in motions]}
    save_weights(config.out / "weights.safetensors", averaged, note=note)
    return config.out / "weights.safetensors"


def _network(config: TrainPrior, generator: torch.Generator | None = None) -> Nano:
    return Nano(width=config.width, layers=config.layers, heads=config.heads, generator=generator)


def _wait_for(data: Path, shards: Iterable[int], makers: list[BaseProcess]) -> None:
    for index in shards:
        while find_shard(data, index) is None:
            if makers and not any(maker.is_alive() for maker in makers):
                raise KinemaError(f"{data}: shard {index} is missing and no maker is running")
            time.sleep(0.5)
