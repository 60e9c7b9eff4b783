"""`kinema make-clips`: shards made as jobs of a batch are those that the training makes by itself."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kinema.prior.nano.data as data
from kinema.batch.blocks import block_command, clip_jobs
from kinema.cli.main import main
from kinema.cli.parse import parse
from kinema.errors import KinemaError
from kinema.prior.nano.config import CLIPS_DONE, SHARDS_PER_BLOCK, MakeClips
from kinema.prior.nano.data import make_block, make_shards
from kinema.prior.nano.shards import ARRAYS, find_shard, read_shard, shard_path

FEW = 2 * SHARDS_PER_BLOCK + 1


def same(a: Path, b: Path, index: int) -> None:
    one, other = (read_shard(folder, index) for folder in (a, b))
    assert one.label == other.label
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_shards_are_shared_out_in_blocks_that_are_known_by_their_content() -> None:
    config = MakeClips(shards=FEW, seed=3, workers=2)
    jobs = clip_jobs(config)
    assert [job.title for job in jobs] == ["shards 0 to 7", "shards 8 to 15", "shards 16 to 16"]
    made = parse(block_command(jobs[1], Path("data/key"))[3:]).command
    assert made == replace(config, out=Path("data/key"), block=1, workers=None)
    assert clip_jobs(replace(config, shards=FEW + 1))[0].key == jobs[0].key
    assert not {job.key for job in clip_jobs(replace(config, seed=1))} & {job.key for job in jobs}


def test_a_block_has_the_bits_that_the_training_would_have_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "SHARD", 3)
    config = MakeClips(out=tmp_path / "batch" / "key", shards=SHARDS_PER_BLOCK + 1, seed=5, block=1)
    assert make_block(config) == [SHARDS_PER_BLOCK]
    assert (config.out / CLIPS_DONE).is_file()
    make_shards(tmp_path / "own", [SHARDS_PER_BLOCK], 5, None)
    same(tmp_path / "batch", tmp_path / "own", SHARDS_PER_BLOCK)


def test_shards_are_found_beside_each_other_and_in_blocks(tmp_path: Path) -> None:
    assert find_shard(tmp_path, 4) is None
    with pytest.raises(KinemaError, match=r"shard_00004: no such shard; make it with kinema make-clips"):
        read_shard(tmp_path, 4)
    inside = shard_path(tmp_path / "key", 4)
    inside.mkdir(parents=True)
    assert find_shard(tmp_path, 4) == inside
    shard_path(tmp_path, 4).mkdir()
    with pytest.raises(KinemaError, match="has shard_00004 twice"):
        find_shard(tmp_path, 4)


@pytest.mark.slow
def test_the_batch_makes_all_shards_and_goes_on(tmp_path: Path) -> None:
    call = ["make-clips", "-o", str(tmp_path / "batch"), "-q", "--shards", "1", "--workers", "1"]
    main(call)
    made = find_shard(tmp_path / "batch", 0)
    assert made is not None
    before = made.stat().st_mtime_ns
    main(call)
    assert made.stat().st_mtime_ns == before
    make_shards(tmp_path / "own", [0], 0, None)
    same(tmp_path / "batch", tmp_path / "own", 0)
