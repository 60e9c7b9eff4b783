"""Several prompts in one run folder: one file with a clip each; a run that was cut off goes on."""

import shutil
from pathlib import Path

import pytest

from kinema.asset.load import load
from kinema.asset.options import NameOptions
from kinema.distill.config import Animate
from kinema.errors import KinemaError
from kinema.export.convert import convert
from kinema.job.folder import run
from kinema.job.several import run_all
from kinema.motion.source import load_result, sub_runs

QUICK = {"views": 1, "fit_iterations": 2, "iterations": 1, "physics": False, "splats": 200}


def test_mistakes_are_told_before_anything_is_run(tmp_path: Path) -> None:
    job = Animate("a fox", "walks", ("does not walk",), out=tmp_path / "run", **QUICK)
    with pytest.raises(KinemaError, match="does not walk"):
        run_all(job)
    with pytest.raises(KinemaError, match="names 1 clips, but there are 2"):
        run_all(Animate("a fox", "walks", ("runs",), naming=NameOptions(clip_name="a"), out=tmp_path / "run"))
    with pytest.raises(KinemaError, match="--as walk: is for one prompt"):
        run_all(Animate("a fox", "walks", ("runs",), as_motion="walk", out=tmp_path / "run"))
    with pytest.raises(KinemaError, match="2 prompts"):
        run(Animate("a fox", "walks", ("runs",), out=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_three_clips_in_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    naming = NameOptions(names="unreal", root_bone=True, clip_name="Walk,Run,Sit")
    found = run_all(Animate("a fox", "walks", ("runs", "sits"), out=folder, naming=naming, **QUICK))
    assert [one.folder.name for one in found.runs] == ["1-walks", "2-runs", "3-sits"]
    assert [row["read_as"] for row in found.report["clips"]] == ["walk", "run", "sit"]
    character = load(folder / "motion.glb")
    assert [clip.name for clip in character.clips] == ["Walk", "Run", "Sit"]
    with pytest.raises(KinemaError, match="holds 3 runs; give the folder of one: 1-walks, 2-runs, 3-sits"):
        load_result(folder)
    convert(folder, tmp_path / "all.glb")
    assert [clip.name for clip in load(tmp_path / "all.glb").clips] == ["walks", "runs", "sits"]
    # What was cut off is made again, what was done is kept.
    kept = (folder / "1-walks" / "motion.npz").stat().st_mtime_ns
    whole = (folder / "motion.glb").read_bytes()
    for lost in ("motion.glb", "report.json"):
        (folder / lost).unlink()
    shutil.rmtree(folder / "3-sits")
    again = run_all(Animate(resume=folder))
    assert [one.folder for one in again.runs] == list(sub_runs(folder))
    assert (folder / "1-walks" / "motion.npz").stat().st_mtime_ns == kept
    assert (folder / "motion.glb").read_bytes() == whole
