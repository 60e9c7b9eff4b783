"""A prompt that tells one thing after another: a run for each part, one clip, and it goes on after a cut."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from kinema.asset.load import load
from kinema.distill.config import Animate
from kinema.errors import KinemaError
from kinema.job.folder import RESULTS, run
from kinema.motion.source import load_result

QUICK = {"views": 1, "fit_iterations": 2, "iterations": 1, "physics": False, "splats": 200, "frames": 12}


def test_an_unknown_part_is_named_before_anything_is_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KinemaError, match=r'^"a fox does not sit" in "a fox walks, then does not sit"') as caught:
        run("a fox", "a fox walks, then does not sit", out=out, **QUICK)
    assert "\n" not in str(caught.value)
    for options, line in (({"description": "A fox."}, "--description"), ({"parameters": "field"}, "--parameters")):
        with pytest.raises(KinemaError, match=f"^{line}"):
            run("a fox", "walks, then sits", out=out, **QUICK, **options)
    with pytest.raises(KinemaError, match="--live"):
        run("a fox", "walks, then sits", out=out, watch=lambda *_: pytest.fail("watched"), **QUICK)
    assert not out.exists()


@pytest.mark.slow
def test_two_things_in_a_row_are_one_clip_and_resume(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    found = run("a fox", "a fox walks, then sits down", out=folder, **QUICK)
    assert all((folder / name).is_file() for name in RESULTS)
    report = json.loads((folder / "report.json").read_text())
    assert report["read_as"] == "walk, then sit"
    assert [part["folder"] for part in report["parts"]] == ["1-a-fox-walks", "2-a-fox-sits-down"]
    (_, leave), (enter, last) = (part["frames"] for part in report["parts"])
    assert report["joins"][0]["frames"] == [leave, enter]
    assert 0 < leave < enter < last == len(found.motion) - 1
    _, _, motion = load_result(folder)
    torch.testing.assert_close(motion.angles, found.motion.angles)
    clip = load(folder / "motion.glb").clips[0]
    assert len(clip.root_position) == len(motion)
    # What was cut off is made again, to the same bits, and what was done is kept.
    kept = (folder / "1-a-fox-walks" / "motion.npz").stat().st_mtime_ns
    for lost in RESULTS:
        (folder / lost).unlink()
    shutil.rmtree(folder / "2-a-fox-sits-down")
    again = run(Animate(resume=folder))
    assert (folder / "1-a-fox-walks" / "motion.npz").stat().st_mtime_ns == kept
    torch.testing.assert_close(again.motion.angles, found.motion.angles, atol=0, rtol=0)
    # A finished one has nothing left to do.
    torch.testing.assert_close(run(Animate(resume=folder)).motion.angles, found.motion.angles, atol=0, rtol=0)
