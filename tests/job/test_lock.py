"""Two processes and one run folder."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kinema.errors import KinemaError
from kinema.job.lock import LOCK, locked

HOLD = "import sys, pathlib, kinema.job.lock as lock\nwith lock.locked(pathlib.Path(sys.argv[1])):\n"
HOLD += "    print('held', flush=True)\n    sys.stdin.read()\n"


def hold(folder: Path) -> subprocess.Popen:
    """Another process that works in the folder until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_works_in_the_folder_and_one_that_was_killed_is_none(tmp_path: Path) -> None:
    process = hold(tmp_path)
    told = f"process {process.pid} on {socket.gethostname()} works in it"
    with pytest.raises(KinemaError, match=told), locked(tmp_path):
        pass
    assert json.loads((tmp_path / LOCK).read_text()) == {"pid": process.pid, "host": socket.gethostname()}
    process.kill()
    process.wait()
    assert (tmp_path / LOCK).is_file()
    with locked(tmp_path):  # stale: taken over
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
        with pytest.raises(KinemaError, match=f"process {os.getpid()} "), locked(tmp_path):
            pass
    assert not list(tmp_path.iterdir())


def test_a_lock_of_another_machine_holds_until_it_is_deleted(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(json.dumps({"pid": 7, "host": "elsewhere"}))
    told = r"process 7 on elsewhere works in it; delete .*run\.lock if it has ended"
    with pytest.raises(KinemaError, match=told), locked(tmp_path):
        pass
    (tmp_path / LOCK).write_text("damaged")
    with locked(tmp_path):
        pass


def test_an_interrupted_run_leaves_no_lock(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked(tmp_path):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
