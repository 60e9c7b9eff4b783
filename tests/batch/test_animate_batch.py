"""`kinema batch` with `kinema animate` itself: results, manifest, page, and a run that goes on after kill -9."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kinema.batch.animate import animate_command, relocate
from kinema.batch.job import Job
from kinema.create.options import MakerOptions
from kinema.distill.config import Animate

HEADER = "asset,prompt,seed,preset,views,fit-iterations,iterations,physics,checkpoint-seconds\n"
ROWS = "a red fox,a fox is walking,0,fast,1,12,3,no,0\nnowhere.glb,a fox is walking,0,fast,1,5,2,no,0\n"
LINKED = r'(?:src|poster|href)="([^"]+)"'


@pytest.mark.slow
def test_a_batch_of_clips_is_killed_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(HEADER + ROWS)
    out = tmp_path / "out"
    call = [sys.executable, "-m", "kinema", "batch", str(tmp_path / "jobs.csv"), "-o", str(out), "--workers", "2"]
    process = subprocess.Popen(call, stderr=subprocess.DEVNULL)
    while not list(out.glob("*/distill.safetensors")):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 1
    assert "1 of 2 jobs failed (lines 3); the first: nowhere.glb: no such file" in done.stderr
    clip, failed = (json.loads(line) for line in (out / "manifest.jsonl").read_text().splitlines())
    assert (clip["state"], clip["resumed"], failed["state"], failed["code"]) == ("done", 1, "failed", 1)
    assert clip["result"]["metrics"].keys() >= {"gait", "slide"}
    page = (out / "index.html").read_text()
    assert "nowhere.glb: no such file" in page
    links = re.findall(LINKED, page)
    assert any(link.endswith("preview.mp4") for link in links)
    assert all((out / link).is_file() for link in links)
    again = subprocess.run([*call, "--json"], capture_output=True, text=True)
    assert json.loads(again.stdout)["done"] == 1


def test_a_run_that_was_begun_elsewhere_finds_its_character(tmp_path: Path) -> None:
    (tmp_path / "fox.glb").write_text("")
    job = Job("key", "", content=Animate(str(tmp_path / "fox.glb"), "it walks", seed=3))
    fresh = animate_command(job, tmp_path / "key")
    assert fresh[1:5] == ["-m", "kinema", "animate", str(tmp_path / "fox.glb")]
    assert fresh[-4:] == ["--out", str(tmp_path / "key"), "--seed", "3"]
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "config.json").write_text(json.dumps({"config": {"asset": "/elsewhere/fox.glb"}}))
    assert animate_command(job, tmp_path / "key")[-2:] == ["--resume", str(tmp_path / "key")]
    saved = json.loads((tmp_path / "key" / "config.json").read_text())
    assert saved["config"]["asset"] == str(tmp_path / "fox.glb")


def test_parts_of_a_sequence_find_it_too(tmp_path: Path) -> None:
    (tmp_path / "fox.glb").write_text("")
    places = [tmp_path / "key", tmp_path / "key" / "1-a-fox-walks"]
    for folder in places:
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"config": {"asset": "/elsewhere/fox.glb"}}))
    relocate(tmp_path / "key", Animate(str(tmp_path / "fox.glb"), "a fox walks, then sits"))
    assert [json.loads((place / "config.json").read_text())["config"]["asset"] for place in places] == [
        str(tmp_path / "fox.glb")
    ] * 2


def test_a_run_whose_character_was_made_keeps_it(tmp_path: Path) -> None:
    """Its config names the file that was made and not the words of the job."""
    made = tmp_path / "character.glb"
    made.write_text("")
    (tmp_path / "config.json").write_text(json.dumps({"config": {"asset": "/elsewhere/character.glb"}}))
    relocate(tmp_path, Animate("a pug in a cape", "it walks", making=MakerOptions(maker="shap-e")))
    assert json.loads((tmp_path / "config.json").read_text())["config"]["asset"] == str(made)
