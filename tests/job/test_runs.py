"""What a run keeps of itself, and when it refuses to go on."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from kinema.asset.options import FileOptions
from kinema.cli.main import main
from kinema.create.creatures import creature
from kinema.distill.config import Animate, Resolved
from kinema.errors import KinemaError
from kinema.export.write import write
from kinema.job.animate import DISTILLED
from kinema.job.folder import RESULTS, begin, check, choose_folder, default_folder, resumed, run
from kinema.motion.source import load_result


@pytest.fixture
def job(tmp_path: Path) -> Animate:
    (tmp_path / "fox.glb").write_bytes(b"a fox")
    options = {"video_size": (9, 32, 48), "tiny_encoder": Path("tiny.safetensors"), "speed": 1.5, "seed": 7}
    options["reading"] = FileOptions(skeleton=Path("bones.json"), up="+z", scale=0.01)
    return check(Animate(str(tmp_path / "fox.glb"), "  a fox is walking ", out=tmp_path / "run", **options))


def test_a_resumed_run_has_the_options_of_the_first(job: Animate, tmp_path: Path) -> None:
    folder = begin(job)
    assert resumed(folder) == replace(job, out=None, resume=folder)
    saved = json.loads((folder / "config.json").read_text())
    assert set(saved["config"]) == {field.name for field in fields(Animate)}
    assert saved["config"]["prompt"] == "a fox is walking"
    assert {"kinema", "torch", "numpy", "python", "machine"} == set(saved["versions"])
    assert {"character", "prior"} == set(saved["hashes"])


def test_options_that_a_later_version_has_or_lacks_do_not_matter(job: Animate) -> None:
    folder = begin(job)
    saved = json.loads((folder / "config.json").read_text())
    saved["config"]["no_longer_known"] = 3
    del saved["config"]["learning_rate"]
    (folder / "config.json").write_text(json.dumps(saved))
    assert resumed(folder) == replace(job, out=None, resume=folder)


def test_a_changed_character_is_notresumed(job: Animate, tmp_path: Path) -> None:
    folder = begin(job)
    (tmp_path / "fox.glb").write_bytes(b"another fox")
    with pytest.raises(KinemaError, match="the character has changed since the run began"):
        resumed(folder)


def test_a_new_run_takes_nothing_for_its_own_that_it_did_not_make(job: Animate) -> None:
    folder = default_folder(job)
    folder.mkdir()
    for name in (*RESULTS, DISTILLED, "notes.txt"):
        (folder / name).write_text("old")
    with pytest.raises(KinemaError, match=r"run: has the distill\.safetensors of an earlier run; .* --overwrite"):
        begin(job)
    assert (folder / "motion.glb").read_text() == "old"
    begin(replace(job, overwrite=True))
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "notes.txt"]


def test_a_default_folder_that_is_taken_is_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = Resolved("fox", "a fox is walking")
    for name in ("fox-a-fox-is-walking", "fox-a-fox-is-walking-2", "fox-a-fox-is-walking-3"):
        assert choose_folder(job) == Path("runs") / name
        begin(job)
    assert choose_folder(replace(job, overwrite=True)) == default_folder(job)
    # What is no file of a run is left alone and does not matter.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert choose_folder(replace(job, out=tmp_path / "mine")) == tmp_path / "mine"


def test_a_finished_run_is_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = str(tmp_path / "run")
    few = ["--views", "1", "--fit-iterations", "1", "--iterations", "1", "--frames", "4", "--no-loop", "--no-physics"]
    main(["animate", "fox", "a fox is walking", "-o", out, "-q", *few])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    main(["animate", "--resume", out])
    assert "was finished already" in capsys.readouterr().out
    again = run("", resume=out)
    assert len(again.motion) == len(again.distilled) == 4
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_file_is_read_as_the_run_was_told(tmp_path: Path) -> None:
    """--scale and its like hold for the job, for its result, and for whoever looks at the result later."""
    write(tmp_path / "fox.glb", creature("fox"))
    few = ["--views", "1", "--fit-iterations", "1", "--iterations", "1", "--frames", "4", "--no-physics", "-q"]
    out = str(tmp_path / "run")
    main(["animate", str(tmp_path / "fox.glb"), "a fox is walking", "--scale", "3", "-o", out, *few])
    character, _, motion = load_result(Path(out))
    assert float(np.ptp(character.mesh.vertices[:, 1])) == pytest.approx(
        3 * np.ptp(creature("fox").mesh.vertices[:, 1])
    )
    assert float(motion.root_position[0, 1]) > 2 * creature("fox").skeleton.heads[0, 1]


def test_weights_of_any_prior_are_hashed(job: Animate, tmp_path: Path) -> None:
    (tmp_path / "model" / "vae").mkdir(parents=True)
    weights = tmp_path / "model" / "vae" / "diffusion_pytorch_model.safetensors"
    weights.write_bytes(b"weights")
    large = replace(job, prior=f"ltx-video={tmp_path / 'model'}")
    folder = begin(large)
    assert resumed(folder).prior == large.prior
    weights.write_bytes(b"other weights")
    with pytest.raises(KinemaError, match="the prior has changed since the run began"):
        resumed(folder)


def test_default_folder_names_the_job() -> None:
    assert default_folder(Animate("a red fox", "A fox: is/walking!")) == Path("runs/a-red-fox-a-fox-is-walking")
    assert len(default_folder(Animate("x" * 9000, "y" * 9000)).name) <= 60
