"""A job's files on a storage: they appear whole, a machine that takes a job over finds them, and characters travel."""

import json
import pickle
import time
from pathlib import Path

import pytest

from kinema.batch.animate import AnimateFromStore, bring_home, fetched, shipped
from kinema.batch.engine import Batch, Entry
from kinema.batch.job import Job
from kinema.batch.store import Store
from kinema.distill.config import Animate
from kinema.errors import KinemaError, MachineError


def files_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_what_changed_is_pushed_and_another_machine_pulls_it(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name, text in (("config.json", "1"), ("state", "a"), ("run.lock", "{}"), ("x.part", "half")):
        (run / name).write_text(text)
    store = Store((tmp_path / "store").as_uri())
    seen = store.push("key", run)
    assert files_in(tmp_path / "store" / "key") == {"config.json": "1", "state": "a"}
    # What has not changed is not copied again.
    (tmp_path / "store" / "key" / "config.json").write_text("kept")
    (run / "state").write_text("later")
    store.push("key", run, seen)
    assert files_in(tmp_path / "store" / "key") == {"config.json": "kept", "state": "later"}
    # Another machine has only the URL.
    other = pickle.loads(pickle.dumps(store))
    other.pull("key", tmp_path / "elsewhere")
    assert files_in(tmp_path / "elsewhere") == {"config.json": "kept", "state": "later"}
    other.pull("never begun", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_the_file_that_says_done_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, order = tmp_path / "run", []
    run.mkdir()
    for name in ("report.json", "motion.glb", "zz.txt"):
        (run / name).write_text("x")
    monkeypatch.setattr(Store, "_put", lambda self, path, target: order.append(path.name))
    Store((tmp_path / "store").as_uri()).push("key", run)
    assert order[-1] == "report.json"
    assert len(order) == 3


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_every_storage_holds_jobs_and_the_parts_of_sequences(kind: str, tmp_path: Path) -> None:
    store = Store("memory://kinema-test" if kind == "memory" else (tmp_path / "store").as_uri())
    run = tmp_path / "run"
    for place, text in (("state", "a"), ("1-walks/state", "b"), ("1-walks/run.lock", "{}"), ("1-walks/x.part", "half")):
        (run / place).parent.mkdir(parents=True, exist_ok=True)
        (run / place).write_text(text)
    store.push("key", run)
    store.pull("key", tmp_path / "elsewhere")
    found = {path.relative_to(tmp_path / "elsewhere").as_posix(): path.read_text()
             for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()}  # fmt: skip
    assert found == {"state": "a", "1-walks/state": "b"}


def test_checkpoints_are_stored_while_a_job_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinema.batch.store.PUSH_SECONDS", 0.02)
    store, run, stored = Store((tmp_path / "store").as_uri()), tmp_path / "run", tmp_path / "store" / "key" / "state"
    run.mkdir()

    def fail() -> None:
        with store.held("key", run):
            (run / "state").write_text("1")
            end = time.monotonic() + 30
            while not stored.is_file():
                assert time.monotonic() < end
                time.sleep(0.01)
            (run / "state").write_text("22")
            raise RuntimeError("the job failed")

    with pytest.raises(RuntimeError):
        fail()
    assert stored.read_text() == "22"
    with store.held("key", tmp_path / "elsewhere"):
        assert (tmp_path / "elsewhere" / "state").read_text() == "22"


def test_a_storage_that_fails_is_no_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a")
    store = Store((tmp_path / "store").as_uri())

    def full(self: Store, path: Path, target: str) -> None:
        raise OSError("no answer")

    monkeypatch.setattr(Store, "_put", full)
    with pytest.raises(MachineError, match=r"cannot be copied to .*key \(no answer"):
        store.push("key", tmp_path)


def test_a_storage_that_nobody_knows_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(KinemaError, match="--store nonsense://x: cannot be used"):
        Store("nonsense://x").push("key", tmp_path)


def test_characters_travel_with_their_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "wolf.glb").write_text("a wolf")
    (tmp_path / "parts.gltf").write_text('{"buffers": [{"uri": "parts.bin"}]}')
    (tmp_path / "parts.bin").write_text("x")
    store = Store((tmp_path / "store").as_uri())
    assets = (str(tmp_path / "wolf.glb"), "a red fox", str(tmp_path / "parts.gltf"))
    jobs = [Job(str(k), "", content=Animate(asset, "it walks")) for k, asset in enumerate(assets)]
    wolf, fox, parts = (shipped(job, store) for job in jobs)
    assert fox.content.asset == "a red fox"
    assert "has files beside it" in parts.mistake
    (tmp_path / "wolf.glb").unlink()  # the other machine does not have it
    here = Path(fetched(wolf, store).content.asset)
    assert here.read_text() == "a wolf"
    assert here.name == "wolf.glb"
    words = AnimateFromStore(store)(wolf, tmp_path / "run")
    assert words[3:6] == ["animate", str(here), "it walks"]
    assert fetched(fox, store) == fox


def test_finished_runs_find_their_characters_at_home(tmp_path: Path) -> None:
    (tmp_path / "wolf.glb").write_text("a wolf")
    (tmp_path / "key").mkdir()
    config = tmp_path / "key" / "config.json"
    config.write_text(json.dumps({"config": {"asset": "/scratch/assets/1/wolf.glb"}}))
    job = Job("key", "", content=Animate(str(tmp_path / "wolf.glb"), "it walks"))
    batch = Batch(tmp_path, {"key": Entry("key", (2,), "", state="running")})
    bring_home([job], batch)
    assert "scratch" in config.read_text()
    batch.entries["key"].state = "done"
    bring_home([job], batch)
    assert json.loads(config.read_text())["config"]["asset"] == str(tmp_path / "wolf.glb")
