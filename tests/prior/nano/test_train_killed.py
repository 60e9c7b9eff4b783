"""`kinema train-prior` at a toy size, killed and called again. Clips are noise: only the course of the run matters."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.gait.make import Label
from kinema.prior.nano.codec import CHANNELS, PLACES, STILL_VALUES, TOKENS
from kinema.prior.nano.config import TrainPrior
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.nano.shards import SHARD, Clips, write_shard
from kinema.prior.nano.train import Run, join_ranks, resume, save, step

SIZE = {"width": 16, "layers": 1, "heads": 2, "batch": 4, "shards": 1, "makers": 0}


def write_noise(folder: Path) -> None:
    rng = np.random.default_rng(0)
    label = Label("walk", True, 0.0, 1.0, 1.0, "quadruped", 1)
    clips = Clips(
        latents=rng.normal(size=(SHARD, TOKENS, CHANNELS)).astype(np.float16),
        still=rng.integers(0, 2, (SHARD, PLACES, STILL_VALUES)).astype(np.float16),
        upright=rng.random(SHARD) < 0.5,
        motion=rng.random((SHARD, 4)),
        camera=rng.random((SHARD, 2)),
        natural=rng.random((SHARD, 2)),
        label=[label] * SHARD,
    )
    write_shard(folder / "data", 0, clips)


def tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict]:
    from safetensors import safe_open

    with safe_open(str(path), "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["run"])  # noqa: SIM118


def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    """Six steps, and three, a file, and three. The clock, which sets the rate, is set by hand."""
    write_noise(tmp_path)
    config = TrainPrior(out=tmp_path, minutes=1.0, **SIZE)

    def go(run: Run, steps: int) -> Run:
        for _ in range(steps):
            step(config, run, tmp_path / "data", 1)
            run.step += 1
            run.seconds = 5.0 * run.step
        return run

    whole = go(resume(config), 6)
    save(config, go(resume(config), 3), tmp_path / "data")
    again = go(resume(config), 3)
    assert again.step == whole.step == 6
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name
        assert torch.equal(whole.average[name], again.average[name]), name


def step_as_rank(config: TrainPrior, rank: int, meeting: str) -> None:
    join_ranks(config, rank, meeting)
    run = resume(config)
    for _ in range(3):
        step(config, run, config.out / "data", 1)
        run.step += 1
    torch.save(run.model.state_dict(), config.out / f"rank{rank}.pt")


def test_ranks_have_batches_of_their_own_and_step_together(tmp_path: Path) -> None:
    write_noise(tmp_path)
    config = TrainPrior(out=tmp_path, minutes=1.0, ranks=2, **SIZE)
    meeting = str(tmp_path)
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=step_as_rank, args=(config, 1, meeting))
    other.start()
    step_as_rank(config, 0, meeting)
    torch.distributed.destroy_process_group()
    other.join()
    first, second = (torch.load(tmp_path / f"rank{rank}.pt") for rank in (0, 1))
    alone = resume(TrainPrior(out=tmp_path, minutes=1.0, **SIZE))
    for _ in range(3):
        step(TrainPrior(out=tmp_path, minutes=1.0, **SIZE), alone, tmp_path / "data", 1)
        alone.step += 1
    for name, value in first.items():
        assert torch.equal(value, second[name]), name
    assert any(not torch.equal(first[name], value) for name, value in alone.model.state_dict().items())


@pytest.mark.slow
def test_kill_9_loses_no_more_than_the_last_checkpoint(tmp_path: Path) -> None:
    write_noise(tmp_path)
    flags = [word for key, value in SIZE.items() for word in (f"--{key}", str(value))]
    command = [sys.executable, "-m", "kinema", "train-prior", "-o", str(tmp_path), *flags, "--minutes", "0.15"]
    command += ["--checkpoint-minutes", "0.01"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    path = tmp_path / "checkpoint.safetensors"
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1.0)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, header = tensors(path)  # whole, whenever the kill came
    assert header["step"] > 0
    assert header["seconds"] < 9
    done = subprocess.run([*command, "--json", "-q"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"file": str(tmp_path / "weights.safetensors")}
    _, after = tensors(path)
    assert after["step"] > header["step"]
    # The time before the kill counts: both runs together use the minutes that were asked for, and one step more.
    assert 9 <= after["seconds"] < 12
    NanoPrior.load(tmp_path / "weights.safetensors")
    assert not list(tmp_path.glob("*.part"))
