"""`kinema train-poses` at a toy size: it learns, and a killed run goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.learn.text import CaptionEmbeddings
from kinema.posespace.body import Body
from kinema.posespace.config import TrainPoses
from kinema.posespace.data import Dataset
from kinema.posespace.pose import Poses
from kinema.posespace.shards import BodyPoses, read_shard, shard_path, shards_in, write_shard
from kinema.posespace.train import CHECKPOINT, Run, resume, save, step
from kinema.posespace.weights import Trained

SIZE = {"width": 32, "layers": 1, "heads": 2, "batch": 16}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory, fox: Character, steps: Poses) -> Path:
    """A walk, twice, under other words."""
    folder = tmp_path_factory.mktemp("poses")
    for index, words in enumerate(("walking along", "")):
        shard = BodyPoses.of("fox", "quadruped", "procedural", Body.of(fox), [(steps, words)])
        write_shard(shard_path(folder, "procedural", index), shard)
    return folder


def test_shards_give_back_what_was_written(shards: Path, steps: Poses, fox: Character) -> None:
    found = [read_shard(path) for path in shards_in(shards)]
    assert [shard.captions for shard in found] == [("walking along",), ("",)]
    torch.testing.assert_close(found[0].poses().rotations, steps.rotations, atol=2e-3, rtol=0)
    torch.testing.assert_close(found[0].poses().height, steps.height, atol=1e-5, rtol=0)
    body = Body.of(fox)
    assert found[0].body.parents == body.parents
    np.testing.assert_array_equal(found[0].body.codes, body.codes)


def go(config: TrainPoses, run: Run, data: Dataset, count: int) -> list[float]:
    losses = []
    for _ in range(count):
        losses.append(step(config, run, data, CaptionEmbeddings()))
        run.step += 1
        run.seconds = 0.5 * run.step  # the clock, which sets the rate, is set by hand
    return losses


def test_a_training_may_start_from_finished_weights(shards: Path, tmp_path: Path) -> None:
    config = TrainPoses(data=shards, out=tmp_path, minutes=1.0, **SIZE)
    data = Dataset.read(shards, ("procedural",), variants=True, seed=0)
    run = resume(config)
    go(config, run, data, 3)
    weights = save(config, run, data)
    again = resume(replace(config, out=tmp_path / "again", start_from=weights))
    assert again.step == 0
    for name, value in again.model.state_dict().items():
        torch.testing.assert_close(value, run.average[name].half().float())
    with pytest.raises(KinemaError, match="another size"):
        resume(replace(config, out=tmp_path / "other", start_from=weights, width=64))


def test_a_checkpoint_goes_on_with_the_same_bits(shards: Path, tmp_path: Path) -> None:
    config = TrainPoses(data=shards, out=tmp_path, minutes=1.0, **SIZE)
    data = Dataset.read(shards, ("procedural",), variants=True, seed=0)
    whole = resume(config)
    go(config, whole, data, 4)
    half = resume(config)
    go(config, half, data, 2)
    save(config, half, data)
    again = resume(config)
    go(config, again, data, 2)
    assert again.step == whole.step == 4
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name
        assert torch.equal(whole.average[name], again.average[name]), name


def test_it_learns_one_walk(shards: Path, tmp_path: Path) -> None:
    config = TrainPoses(data=shards, out=tmp_path, minutes=1.0, augment=False, **SIZE)
    data = Dataset.read(shards, ("procedural",), variants=False, seed=0)
    run = resume(config)
    losses = go(config, run, data, 80)
    assert np.mean(losses[-10:]) < 0.75 * np.mean(losses[:10])
    trained = Trained.load(save(config, run, data))
    assert trained.note["poses"] == {"procedural": 48}
    assert trained.strangeness(data.shards[0].body) < 0.1


def test_a_checkpoint_of_other_sizes_and_an_empty_folder_are_one_line(shards: Path, tmp_path: Path) -> None:
    config = TrainPoses(data=shards, out=tmp_path, **SIZE)
    data = Dataset.read(shards, ("procedural",), variants=False, seed=0)
    save(config, resume(config), data)
    with pytest.raises(KinemaError, match="cannot go on from it"):
        resume(TrainPoses(out=tmp_path, width=64, layers=1, heads=2))
    with pytest.raises(KinemaError, match="has no poses of distilled"):
        Dataset.read(shards, ("distilled",), variants=False, seed=0)


@pytest.mark.slow
def test_kill_9_loses_no_more_than_the_last_checkpoint(shards: Path, tmp_path: Path) -> None:
    flags = [word for key, value in SIZE.items() for word in (f"--{key}", str(value))]
    command = [sys.executable, "-m", "kinema", "train-poses", "--data", str(shards), "-o", str(tmp_path), *flags]
    command += ["--minutes", "0.1", "--checkpoint-minutes", "0.005"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not (tmp_path / CHECKPOINT).exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    run = resume(TrainPoses(data=shards, out=tmp_path, **SIZE))  # whole, whenever the kill came
    assert run.step > 0
    done = subprocess.run([*command, "--json", "-q"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"file": str(tmp_path / "weights.safetensors")}
    steps_logged = [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert steps_logged == sorted(steps_logged)
