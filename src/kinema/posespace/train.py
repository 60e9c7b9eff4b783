"""`kinema train-poses`: trains on collected poses, checkpoints, resumes.

Every step draws its batch and noise from the seed and its number, so a run that was killed and resumed goes through
the same steps as one that was not.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kinema.errors import KinemaError
from kinema.files import make_folder
from kinema.learn.text import CaptionEmbeddings
from kinema.learn.training import (
    Optimizers,
    descend,
    first_average,
    make_optimizers,
    model_tensors,
    restore_optimizers,
    training_tensors,
)
from kinema.posespace.batch import place
from kinema.posespace.config import TrainPoses
from kinema.posespace.data import Batch, Dataset
from kinema.posespace.flow import FAST_BFLOAT16
from kinema.posespace.model import SIX_SCALE, PoseModel, from_values, path_factors, to_values
from kinema.posespace.weights import Trained, save_weights
from kinema.tensor_files import load_tensors, save_tensors

CHECKPOINT, HEADER = "checkpoint.safetensors", "run"
"""File to go on from, and the key of its header."""
PLACE_WEIGHT = 4.0 * SIX_SCALE**2
"""Weight of the squared error of joints' places relative to the root [scales], against 1 for rotations."""
HEIGHT_WEIGHT = 0.05
"""Weight of the root's height, against 1 for all rotations."""
LEAST_LEVEL = 0.02
Report = Callable[[dict[str, float]], None]


@dataclass
class Run:
    """State of a training, which a checkpoint holds."""

    model: PoseModel
    average: dict[str, Tensor]
    optimizers: Optimizers
    step: int = 0
    seconds: float = 0.0

    @staticmethod
    def begin(model: PoseModel) -> "Run":
        precision = torch.bfloat16 if FAST_BFLOAT16 else torch.float32
        return Run(model, first_average(model), make_optimizers(model, precision))


def train(config: TrainPoses, *, report: Report = lambda _: None) -> Path:
    """Run until the minutes are used up; returns the weights' path."""
    sources = tuple(config.sources.split(","))
    data = Dataset.read(config.data, sources, variants=config.augment, seed=config.seed)
    make_folder(config.out)
    run, texts = resume(config), CaptionEmbeddings()
    poses = sum(len(shard.height) for shard in data.shards)
    report({"bodies": float(len(data.shards)), "poses": float(poses)})
    last_save, losses = time.monotonic(), []
    with (config.out / "log.jsonl").open("a") as log:
        while run.seconds < config.minutes * 60:
            begun = time.process_time()
            losses.append(step(config, run, data, texts))
            # Time of the processor, not of the clock: a busy machine shall not shorten the training.
            run.seconds += time.process_time() - begun
            run.step += 1
            if run.step % 50 == 0:
                entry = {"step": run.step, "seconds": round(run.seconds, 1), "loss": round(float(np.mean(losses)), 4)}
                log.write(json.dumps(entry) + "\n")
                log.flush()
                report(entry)
                losses.clear()
            if time.monotonic() - last_save > config.checkpoint_minutes * 60:
                save(config, run, data)
                last_save = time.monotonic()
    return save(config, run, data)


def step(config: TrainPoses, run: Run, data: Dataset, texts: CaptionEmbeddings) -> float:
    """One step on a batch; returns its loss."""
    rng = np.random.default_rng((config.seed, run.step))
    batch = data.draw(rng, config.batch, change=config.augment)
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    loss = batch_loss(run.model, batch, text_of(batch, texts), generator=generator)
    loss.backward()
    progress = min(run.seconds / (config.minutes * 60), 1.0)
    rates = {"rate": config.rate, "decay": config.average}
    descend(run.model, run.optimizers, run.average, step=run.step, progress=progress, **rates)
    return float(loss.detach())


def text_of(batch: Batch, texts: CaptionEmbeddings) -> Tensor:
    """Embeddings of a batch's captions; zeros for none."""
    told = torch.tensor([bool(words) for words in batch.captions])
    return texts(list(batch.captions)) * told[:, None]


def batch_loss(model: PoseModel, batch: Batch, text: Tensor, *, generator: torch.Generator) -> Tensor:
    """Squared error of the network's output, and of the joints' places that follow from it."""
    count = len(batch.height)
    t = (torch.arange(count) + torch.rand(count, generator=generator)) / count  # stratified over the batch
    t = LEAST_LEVEL + (1 - 2 * LEAST_LEVEL) * t
    clean = to_values(batch.rotations, batch.height)
    noise = torch.randn(clean.shape, generator=generator)
    level = t[:, None, None]
    given = model.given(batch.bodies, text)
    noisy = ((1 - level) * clean + level * noise) * given.alive
    with torch.autocast("cpu", torch.bfloat16, enabled=FAST_BFLOAT16):
        found = model(noisy, t, given).float()
    out = path_factors(t)[1]
    error = ((found - clean) * given.alive).square()
    values = error[:, :-1].sum((1, 2)) / given.alive[:, :-1].sum((1, 2)) + HEIGHT_WEIGHT * error[:, -1, 0]
    # Without the height: one jump would outweigh a hundred steps.
    level_root = torch.zeros_like(batch.height)
    places = [place(batch.bodies, from_values(x)[0], level_root)[1] for x in (found, clean)]
    mask = batch.bodies.mask[..., None]
    away = ((places[0] - places[1]) * mask).square().sum((1, 2)) / mask.sum((1, 2))
    weight = 1 / out.clamp(min=0.2).square()
    return (weight * (values + PLACE_WEIGHT * away)).mean()


def resume(config: TrainPoses) -> Run:
    """The run in the folder as it was saved, or a new one."""
    path = config.out / CHECKPOINT
    if not path.is_file():
        return Run.begin(_first_network(config))
    try:
        tensors, header = load_tensors(path, key=HEADER)
        run = Run.begin(_network(config))
        run.model.load_state_dict(model_tensors(tensors))
        run.average = model_tensors(tensors, "average")
        restore_optimizers(run.optimizers, tensors)
        run.step, run.seconds = int(header["step"]), float(header["seconds"])
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise KinemaError(f"{path}: cannot go on from it ({str(error).splitlines()[0][:100]})") from None
    return run


def save(config: TrainPoses, run: Run, data: Dataset) -> Path:
    """Write the checkpoint to go on from, and the averaged weights that are shipped; returns the weights' path."""
    tensors = training_tensors(run.model, run.average, run.optimizers)
    header = {"step": run.step, "seconds": run.seconds}
    save_tensors(config.out / CHECKPOINT, tensors, header=header, key=HEADER)
    averaged = _network(config)
    averaged.load_state_dict(run.average)
    options = {k: v.name if isinstance(v, Path) else v for k, v in asdict(config).items()}
    bodies, poses = Counter[str](), Counter[str]()
    for shard in data.shards:
        bodies[shard.source] += 1
        poses[shard.source] += len(shard.height)
    families = dict(Counter(shard.family for shard in data.shards))
    note = {"steps": run.step, "seconds": run.seconds, "config": options, "families": families}
    note |= {"bodies": dict(bodies), "poses": dict(poses)}
    weights = config.out / "weights.safetensors"
    save_weights(weights, averaged, [shard.body for shard in data.shards], note=note)
    return weights


def _first_network(config: TrainPoses) -> PoseModel:
    """Random, or with the weights to start from."""
    if config.start_from is None:
        return _network(config, torch.Generator().manual_seed(config.seed))
    model, found = _network(config), Trained.load(config.start_from).model
    if (found.width, found.layers) != (model.width, model.layers):
        size = f"width {found.width}, {found.layers} layers"
        raise KinemaError(f"{config.start_from}: is of another size ({size}) than --width and --layers say")
    model.load_state_dict(found.state_dict())
    return model


def _network(config: TrainPoses, generator: torch.Generator | None = None) -> PoseModel:
    return PoseModel(width=config.width, layers=config.layers, heads=config.heads, generator=generator)
