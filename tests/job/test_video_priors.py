"""`kinema animate` with a toy checkpoint of every video model: score distillation, killed and resumed."""

import functools
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("diffusers", reason="needs the extra `gpu`")
pytest.importorskip("transformers", reason="needs the extra `gpu`")

sys.path.insert(0, str(Path(__file__).parents[1] / "prior"))
from toy_checkpoints import TOYS, videocrafter

from kinema.cli.main import main
from kinema.files import read_json
from kinema.job import animate as animate_job
from kinema.render.refine import Refinement, refine

WRITERS = {name: toy.write for name, toy in TOYS.items()} | {"zeroscope": videocrafter}
"""Toy checkpoints by the name of their prior; VideoCrafter2's conversion loads under Zeroscope's."""
SIZES = {
    "cogvideox": (9, 32, 48), "wan2.1": (5, 16, 32), "wan2.2-5b": (5, 32, 32), "wan2.2-a14b": (5, 16, 32),
    "ltx-video": (9, 64, 64), "modelscope": (4, 16, 16), "zeroscope": (4, 16, 16),
}  # fmt: skip
STEPS = 4
FAMILIES = ("cogvideox-5b", "wan2.2-5b", "ltx-video", "modelscope", "zeroscope")
"""One model per file of `prior/`, and VideoCrafter2."""
REST = [name for name in WRITERS if name not in FAMILIES]


def job(name: str, checkpoint: Path, folder: Path) -> list[str]:
    """The smallest clip that goes through everything: four steps of sds, eight frames, no physics."""
    WRITERS[name](checkpoint)
    size = next(size for prefix, size in SIZES.items() if name.startswith(prefix))
    short = (
        "--iterations",
        str(STEPS),
        "--frames",
        "8",
        "--splats",
        "200",
        "--no-physics",
        "--checkpoint-seconds",
        "0",
    )
    words = ("animate", "a red fox", "a fox is trotting", "--prior", f"{name}={checkpoint}", "--engine", "sds")
    return [*words, *short, "--video-size", *map(str, size), "-o", str(folder)]


def animate(arguments: list[str], cache: str) -> None:
    """The command in a process of its own."""
    os.environ["KINEMA_CACHE"] = cache
    torch.set_num_threads(1)
    main(arguments)


@pytest.mark.parametrize("name", [*FAMILIES, *(pytest.param(name, marks=pytest.mark.slow) for name in REST)])
def test_animate_runs_to_the_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEMA_CACHE", str(tmp_path / "cache"))
    main(job(name, tmp_path / "checkpoint", tmp_path / "run"))
    report: Any = read_json(tmp_path / "run" / "report.json")
    history = [(row["step"], row["stage"]) for row in report["history"]]
    assert history == [(step, "sds") for step in range(1, STEPS + 1)]
    # These models name no motions: who gave no pace is told where it is from.
    table = "by a table of verbs and the length of the legs: trot"
    assert f"speed and period {table} (--speed and --period)" in report["notes"]
    with np.load(tmp_path / "run" / "motion.npz") as found:
        assert all(np.isfinite(found[key]).all() for key in found.files if found[key].dtype.kind == "f")
    assert not list((tmp_path / "run").glob("*.part"))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "modelscope" else pytest.mark.slow) for name in WRITERS]
)
def test_paper_mode_runs_to_the_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one value per frame, refined splats, and a simulated motion, which is the clip."""
    monkeypatch.setenv("KINEMA_CACHE", str(tmp_path / "cache"))
    short = Refinement(views=4, size_px=32, steps=2, batch=1)
    monkeypatch.setattr(animate_job, "refine", functools.partial(refine, settings=short))
    words = [word for word in job(name, tmp_path / "checkpoint", tmp_path / "run") if word != "--no-physics"]
    main([*words, "--preset", "paper", "--physics-iterations", "1"])
    report: Any = read_json(tmp_path / "run" / "report.json")
    assert [row["stage"] for row in report["history"]] == ["sds"] * STEPS
    assert set(report["stages"]) == {"distilled", "planted", "physics"}  # none after the simulation
    with np.load(tmp_path / "run" / "motion.npz") as found:
        assert all(np.isfinite(found[key]).all() for key in found.files if found[key].dtype.kind == "f")


def test_a_student_samples_the_videos_that_are_fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEMA_CACHE", str(tmp_path / "cache"))
    words = job("ltx-video-i2v", tmp_path / "checkpoint", tmp_path / "run")
    words[words.index("--engine") + 1] = "auto"
    drawn = []
    for name in ("teacher", "student"):
        torch.manual_seed(len(drawn))
        WRITERS["ltx-video-i2v"](tmp_path / name)
        more = ["--views", "1", "--fit-iterations", "2", "--student", str(tmp_path / name), "--overwrite"]
        main([*words, *more])
        report: Any = read_json(tmp_path / "run" / "report.json")
        drawn.append([row["loss"] for row in report["history"]])
        assert [row["stage"] for row in report["history"]] == ["fit"] * 2 + ["sds"] * STEPS
    assert drawn[0][0] != drawn[1][0]


def process(*arguments: Any) -> multiprocessing.Process:
    """A fresh process that need not import the large libraries again: they are loaded once in a server that forks."""
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["diffusers", "transformers", "kinema.job.folder", "kinema.cli.main"])
    found = context.Process(target=animate, args=arguments)
    found.start()
    return found


def finished(arguments: list[str], cache: str) -> int | None:
    ended = process(arguments, cache)
    ended.join(300)
    return ended.exitcode


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "modelscope" else pytest.mark.slow) for name in WRITERS]
)
def test_a_killed_run_resumes_to_the_same_bits(name: str, tmp_path: Path) -> None:
    cache, whole, killed = str(tmp_path / "cache"), tmp_path / "whole", tmp_path / "killed"
    arguments = job(name, tmp_path / "checkpoint", whole)
    assert finished(arguments, cache) == 0
    victim = process([*arguments[:-1], str(killed)], cache)
    while not (killed / "distill.safetensors").exists() and victim.is_alive():
        time.sleep(0.002)
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    assert victim.exitcode == -signal.SIGKILL
    assert not (killed / "motion.npz").exists()
    assert finished(["animate", "--resume", str(killed)], cache) == 0
    with np.load(whole / "motion.npz") as a, np.load(killed / "motion.npz") as b:
        assert all(np.array_equal(a[key], b[key]) for key in a.files)
    assert not list(killed.glob("*.part"))
