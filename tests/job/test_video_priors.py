"""`kinema animate` with a toy checkpoint of every video model: score distillation, killed and resumed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("diffusers", reason="needs the extra `gpu`")
pytest.importorskip("transformers", reason="needs the extra `gpu`")

sys.path.insert(0, str(Path(__file__).parents[1] / "prior"))
from toy_checkpoints import TOYS

SIZES = {
    "cogvideox": (9, 32, 48), "wan2.2-5b": (5, 32, 32), "wan2.2-a14b": (5, 16, 32), "ltx-video": (9, 64, 64),
    "modelscope": (4, 16, 16),
}  # fmt: skip


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "kinema", "animate", "-o", str(folder), *arguments]


@pytest.mark.slow
@pytest.mark.parametrize("name", TOYS)
def test_animate_runs_and_resumes_after_a_kill(name: str, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    TOYS[name].write(checkpoint)
    size = next(size for prefix, size in SIZES.items() if name.startswith(prefix))
    short = ("--iterations", "6", "--frames", "12", "--splats", "300", "--no-physics", "--checkpoint-seconds", "0")
    job = ("a red fox", "a fox is trotting", "--prior", f"{name}={checkpoint}", "--engine", "sds", *short)
    job = (*job, "--video-size", *map(str, size))
    environment = os.environ | {"KINEMA_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = subprocess.run(command(whole, *job), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-500:]
    process = subprocess.Popen(
        command(killed, *job), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not (killed / "distill.safetensors").exists() and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed / "report.json").exists()
    done = subprocess.run(
        [sys.executable, "-m", "kinema", "animate", "--resume", str(killed)], capture_output=True, text=True,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    with np.load(whole / "motion.npz") as a, np.load(killed / "motion.npz") as b:
        assert all(np.array_equal(a[key], b[key]) for key in a.files)
    assert not list(killed.glob("*.part"))
    shutil.rmtree(checkpoint)
