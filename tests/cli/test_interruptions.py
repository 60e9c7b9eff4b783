"""Ctrl-C, kill -9 and a full disk in the middle of the main job."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SHORT = ["--frames", "16", "--views", "1", "--fit-iterations", "40", "--iterations", "4", "--checkpoint-seconds", "0.2"]
JOB = [sys.executable, "-m", "kinema", "animate", "a red fox", "a fox is walking", *SHORT]


def stopped_by(number: int, folder: Path) -> tuple[int, str]:
    """Run until the first step is told, send a signal; the code and what was said."""
    # In the background of a shell Ctrl-C is ignored, and children inherit that.
    process = subprocess.Popen(
        [*JOB, "-o", str(folder)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    said = ""
    while "fit 1/" not in said:
        line = process.stderr.readline()
        assert line, f"ended early: {said}"
        said += line
    while not (folder / "distill.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    return process.wait(timeout=120), said + process.stderr.read()


@pytest.mark.slow
def test_ctrl_c_keeps_the_checkpoint_and_tells_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "my run"
    code, said = stopped_by(signal.SIGINT, folder)
    assert code == 130
    assert said.splitlines()[-1] == f"kinema: interrupted; go on with: kinema animate --resume '{folder}'"
    assert "Traceback" not in said
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "distill.safetensors"]
    done = subprocess.run([*JOB[:4], "--resume", str(folder), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "motion.glb").is_file()
    assert not list(folder.glob("*.part"))


@pytest.mark.slow
def test_termination_leaves_nothing_half_written(tmp_path: Path) -> None:
    code, said = stopped_by(signal.SIGTERM, tmp_path / "run")
    assert code == 143
    assert said.splitlines()[-1].startswith("kinema: terminated; go on with: kinema animate --resume")
    assert "Traceback" not in said
    assert not list((tmp_path / "run").glob("*.part"))


@pytest.mark.slow
def test_kill_9_and_resume_to_the_same_bits(tmp_path: Path) -> None:
    """One moment in each stage; `benchmarks/kill.py` tries ten."""
    script = Path(__file__).parents[2] / "benchmarks" / "kill.py"
    arguments = [sys.executable, str(script), "--moments", "4", "--seed", "1", "--out", str(tmp_path / "kill")]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kill.resumed_to_the_same_bits 4/4" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [2, 300])
def test_a_disk_that_is_full_early_and_late(kilobytes: int, tmp_path: Path) -> None:
    """2 kB hold the config only, 300 kB the checkpoints and not the clip."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={4 * -(-kilobytes // 4)}k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("cannot mount a small file system here")
    try:
        done = subprocess.run([*JOB, "-o", str(disk / "run"), "-q"], capture_output=True, text=True)
        left = sorted(path.name for path in (disk / "run").iterdir())
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert done.returncode == 75
    assert done.stdout == ""
    assert re.fullmatch(r"kinema: \S+ cannot be written \(.*[Nn]o space left on device.*\)\n", done.stderr), done.stderr
    assert not [name for name in left if name.endswith(".part")]
