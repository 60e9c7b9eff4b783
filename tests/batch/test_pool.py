"""Many jobs on one machine: each result once, whatever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from small_work import command, jobs, steps_of

from kinema.batch.engine import LOG, MANIFEST, run_jobs
from kinema.batch.job import Job
from kinema.batch.process import THREADS, Pool, await_lock
from kinema.errors import KinemaError, MachineError
from kinema.job.lock import locked


def manifest(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / MANIFEST).read_text().splitlines()]


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def workers_in(out: Path) -> list[int]:
    """Processes whose command line names a folder of the batch."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        words = process.info["cmdline"] or []
        if any(word.startswith(f"{out}/job") for word in words):
            found.append(process.info["pid"])
    return found


def test_every_job_is_done_once_and_a_second_call_does_nothing(tmp_path: Path) -> None:
    done = run_jobs(jobs(5, 2, 0.01), Pool(command, tmp_path, workers=2))
    assert done.count("done") == 5
    assert [entry["state"] for entry in manifest(tmp_path)] == ["done"] * 5
    assert [entry["lines"] for entry in manifest(tmp_path)] == [[k] for k in range(2, 7)]
    ran = [steps_of(tmp_path / f"job{k:02d}") for k in range(5)]
    assert all([step for _, step in steps] == [0, 1] for steps in ran)
    assert len({process for steps in ran for process, _ in steps}) == 5
    again = run_jobs(jobs(5, 2, 0.01), Pool(command, tmp_path, workers=2))
    assert again.count("done") == 5
    assert [steps_of(tmp_path / f"job{k:02d}") for k in range(5)] == ran


def test_bad_input_is_recorded_and_never_tried_again(tmp_path: Path) -> None:
    mixed = [*jobs(1, 1, 0.0, "bad"), *jobs(2, 1, 0.0)[1:]]
    for call in range(2):
        done = run_jobs(mixed, Pool(command, tmp_path, workers=2))
        assert [entry.state for entry in done.entries.values()] == ["failed", "done"]
        assert done.entries["job00"].attempts == (1 if call == 0 else 0)
        assert done.entries["job00"].message == "the prompt is empty"
    assert json.loads((tmp_path / "job00" / "failed.json").read_text())["lines"] == [2]
    unread = Job("unread", "row", (9,), mistake="seed is 'x'")
    assert run_jobs([unread], Pool(command, tmp_path)).entries["unread"].state == "failed"
    assert "line 9 unread row: FAILED: seed is 'x'" in (tmp_path / LOG).read_text()
    done = run_jobs(mixed, Pool(command, tmp_path), retry_failed=True)
    assert done.entries["job00"].attempts == 1


def test_crashes_are_tried_again_from_where_they_were_and_not_for_ever(tmp_path: Path) -> None:
    mixed = [*jobs(1, 2, 0.0, "crash"), *jobs(2, 2, 0.0, "never")[1:]]
    done = run_jobs(mixed, Pool(command, tmp_path, workers=2), attempts=3)
    once, never = done.entries.values()
    assert (once.state, once.attempts, once.resumed) == ("done", 2, 1)
    assert (never.state, never.attempts, never.code) == ("failed", 3, -signal.SIGKILL)
    log = (tmp_path / LOG).read_text()
    assert "killed by signal 9 (no message): it will be tried again" in log
    assert "number 0: had resumed from its checkpoint" in log
    # A crash may be bad luck: the next call tries again.
    assert run_jobs(mixed, Pool(command, tmp_path), attempts=1).entries["job01"].attempts == 1


def test_a_full_disk_is_not_bad_input(tmp_path: Path) -> None:
    full = jobs(1, 1, 0.0, "full")
    entry = run_jobs(full, Pool(command, tmp_path), attempts=2).entries["job00"]
    assert (entry.state, entry.attempts, entry.code) == ("failed", 2, 75)
    (tmp_path / "job00" / "room").touch()
    assert run_jobs(full, Pool(command, tmp_path)).count("done") == 1
    assert not (tmp_path / "job00" / "failed.json").exists()


def test_a_log_that_cannot_be_written_ends_the_batch_in_one_line_and_stops_its_processes(tmp_path: Path) -> None:
    class Filling(Pool):
        def wait(self, seconds: float):
            if not log.is_symlink():
                log.unlink()
                log.symlink_to("/dev/full")
            return super().wait(seconds)

    log, out = tmp_path / LOG, tmp_path
    with pytest.raises(MachineError, match=r"batch.log: cannot be written \(No space left on device\)"):
        run_jobs([*jobs(1, 1, 0.0), *jobs(2, 100, 0.05)[1:]], Filling(command, out, workers=2))
    wait_for(lambda: not workers_in(out), 10.0)
    log.unlink()
    assert run_jobs(jobs(2, 2, 0.0), Pool(command, out)).count("done") == 2


def test_a_key_is_one_job_and_a_broken_record_of_a_failure_is_none(tmp_path: Path) -> None:
    (tmp_path / "job00").mkdir()
    (tmp_path / "job00" / "failed.json").write_text("{")
    done = run_jobs(jobs(1, 2, 0.0) * 3, Pool(command, tmp_path, workers=3))
    assert (len(done.entries), done.count("done")) == (1, 1)
    assert [step for _, step in steps_of(tmp_path / "job00")] == [0, 1]


def test_a_worker_that_is_killed_after_its_last_file_is_done(tmp_path: Path) -> None:
    def killed(job, folder: Path) -> list[str]:
        end = "import os, sys; open(sys.argv[1] + '/report.json', 'w').close(); os.kill(os.getpid(), 9)"
        return [sys.executable, "-S", "-c", end, str(folder)]

    done = run_jobs(jobs(1), Pool(killed, tmp_path))
    assert (done.entries["job00"].state, done.entries["job00"].attempts) == ("done", 1)


def test_a_worker_that_is_killed_goes_on_elsewhere(tmp_path: Path) -> None:
    killed = []

    class Killing(Pool):
        def wait(self, seconds: float):
            ready = [key for key in self.running if (tmp_path / key / "state.txt").exists()]
            if not killed and "job01" in ready:
                killed.append(self.running["job01"][1].process.pid)
                os.kill(killed[0], signal.SIGKILL)
            return super().wait(0.02)

    done = run_jobs(jobs(3, 30, 0.05), Killing(command, tmp_path, workers=2))
    assert done.count("done") == 3
    steps = steps_of(tmp_path / "job01")
    assert sorted({step for _, step in steps}) == list(range(30))
    # At most the step at which it was killed is done twice: it went on and did not begin anew.
    assert len(steps) <= 31
    assert {process for process, _ in steps} > set(killed)
    assert done.entries["job01"].resumed == 1


def test_the_parent_is_killed_and_the_same_command_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    call = [sys.executable, str(Path(__file__).with_name("small_work.py")), "parent", str(out), "4", "30", "0.05"]
    process = subprocess.Popen(call)
    wait_for(lambda: len(list(out.glob("job*/state.txt"))) >= 2)
    process.kill()
    process.wait()
    # Nobody works on behind the back of the next call.
    wait_for(lambda: not workers_in(out), 10.0)
    assert not list(out.glob("job*/report.json"))
    subprocess.run(call, check=True)
    assert len(list(out.glob("job*/report.json"))) == 4
    assert [entry["state"] for entry in manifest(out)] == ["done"] * 4
    assert sum(entry["resumed"] for entry in manifest(out)) == 2
    for folder in sorted(out.glob("job*")):
        steps = [step for _, step in steps_of(folder)]
        assert sorted(set(steps)) == list(range(30))
        assert len(steps) <= 31


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_all_and_loses_nothing(number: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = str(Path(__file__).parent)
    code = (
        "import sys; from pathlib import Path; from kinema.cli import stop; stop.listen();"
        f"sys.path.insert(0, {path!r}); from small_work import command, jobs;"
        "from kinema.batch.engine import run_jobs; from kinema.batch.process import Pool;"
        f"run_jobs(jobs(4, 30, 0.05), Pool(command, Path({str(out)!r}), workers=2), tell=lambda *_: stop.check())"
    )
    restore = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, preexec_fn=restore)
    wait_for(lambda: len(list(out.glob("job*/state.txt"))) >= 2)
    process.send_signal(number)
    assert process.wait(30) != 0
    assert workers_in(out) == []
    assert "stopped with 4 jobs to do" in (out / LOG).read_text()
    assert [entry["state"] for entry in manifest(out)] == ["waiting"] * 4
    done = run_jobs(jobs(4, 30, 0.05), Pool(command, out, workers=2))
    assert (done.count("done"), sum(entry.resumed for entry in done.entries.values())) == (4, 2)


def test_locks_of_a_machine_that_is_gone_are_cleared_in_parts_of_sequences_too(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "1-walks"):
        folder.mkdir(exist_ok=True)
        (folder / "run.lock").write_text(json.dumps({"pid": 1, "host": "gone"}))
    await_lock(tmp_path, 1.0)
    with locked(tmp_path), locked(tmp_path / "1-walks"):
        pass


def test_two_batches_do_not_share_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(KinemaError, match="works in it"):
        run_jobs(jobs(1, 1), Pool(command, tmp_path))


def test_workers_share_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinema.batch.process.cores", lambda: 8)
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    assert [Pool(command, tmp_path, workers=n).threads for n in (1, 2, 3, 8, 20)] == [8, 4, 2, 1, 1]
    assert Pool(command, tmp_path).workers == 8

    def told(job, folder: Path) -> list[str]:
        write = "import os, sys; open(sys.argv[1] + '/report.json', 'w').write(os.environ['OMP_NUM_THREADS'])"
        return [sys.executable, "-c", write, str(folder)]

    run_jobs(jobs(1), Pool(told, tmp_path, workers=2))
    assert (tmp_path / "job00" / "report.json").read_text() == "4"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [Pool(command, tmp_path, workers=n).threads for n in (1, 2, 3, 8)] == [3, 3, 2, 1]


def test_a_program_that_does_not_exist_fails_its_job_only(tmp_path: Path) -> None:
    def missing(job, folder: Path) -> list[str]:
        return [str(tmp_path / "nothing")] if job.key == "job00" else command(job, folder)

    done = run_jobs(jobs(2, 1, 0.0), Pool(missing, tmp_path), attempts=2)
    assert [entry.state for entry in done.entries.values()] == ["failed", "done"]
    assert "cannot be started" in done.entries["job00"].message


def test_the_engine_of_the_docs_runs_as_printed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "batch.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "runs" / "squares" / "square-2" / "report.json").read_text() == "4"
