"""Actors that keep a video model: a toy checkpoint of a real class is loaded once for several jobs."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs the extra `ray`")
pytest.importorskip("diffusers", reason="needs the extra `gpu`")

sys.path.insert(0, str(Path(__file__).parents[1] / "prior"))
from toy_checkpoints import TOYS

from kinema.batch.animate import run_batch
from kinema.batch.job import Job
from kinema.batch.prior_actor import PriorActor, PriorActors
from kinema.distill.config import Animate

pytestmark = pytest.mark.slow


def toy_jobs(folder: Path, count: int) -> list[Job]:
    TOYS["modelscope"].write(folder)
    config = Animate(
        "a red fox", "a fox is trotting", prior=f"modelscope={folder}", engine="sds", iterations=2, frames=12,
        splats=200, physics=False, video_size=(4, 16, 16), checkpoint_seconds=0.0,
    )  # fmt: skip
    return [Job(f"seed{k}", f"seed {k}", content=_seeded(config, k)) for k in range(count)]


def _seeded(config: Animate, seed: int) -> Animate:
    from dataclasses import replace

    return replace(config, seed=seed)


@pytest.fixture
def one_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    import ray

    monkeypatch.setenv("KINEMA_CACHE", str(tmp_path / "cache"))
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_weights_load_once_for_all_jobs_and_again_for_another_model(tmp_path: Path) -> None:
    """The actor's class in this process, which needs no cluster."""
    jobs = toy_jobs(tmp_path / "toy", 2)
    actor = PriorActor(tmp_path / "out", None)
    assert [actor.run(job).code for job in jobs] == [0, 0]
    assert actor.loads == 1
    other = _seeded(jobs[0].content, 9)
    bad = Job("bad", "", content=Animate("nowhere.glb", "it walks", prior=other.prior, video_size=other.video_size))
    ended = actor.run(bad)
    assert (ended.code, ended.message) == (1, "nowhere.glb: no such file")
    assert actor.run(Job("nano", "", content=Animate("a fox", ""))).code == 1
    assert actor.loads == 2


def test_one_actor_runs_all_jobs(one_node: None, tmp_path: Path) -> None:
    jobs = toy_jobs(tmp_path / "toy", 3)
    executor = PriorActors(tmp_path / "out", gpus=0.0, workers=1)
    done = run_batch(jobs, executor, title="toy", tell=lambda *_: None)
    assert done.count("done") == 3
    assert {entry.where.split(", ")[-1] for entry in done.entries.values()} == {"1 models loaded so far"}
