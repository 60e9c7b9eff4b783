"""From words to a clip in one command, with a mesh that another program makes."""

import sys
from pathlib import Path

import pytest

from kinema.asset.character import Character
from kinema.asset.load import load
from kinema.create.creatures import creature
from kinema.create.options import MakerOptions
from kinema.errors import KinemaError
from kinema.export.write import write
from kinema.job.folder import run

QUICK = {"views": 1, "fit_iterations": 2, "iterations": 1, "physics": False, "splats": 200}
COPY = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"


@pytest.mark.slow
def test_a_mesh_is_made_rigged_kept_and_animated(tmp_path: Path) -> None:
    write(tmp_path / "bare.glb", Character("dog", creature("a dog", detail="low").mesh))
    making = MakerOptions(f'{sys.executable} -c "{COPY}" {tmp_path / "bare.glb"} {{out}}')
    found = run("a pug in a cape", "walks", out=tmp_path / "run", making=making, **QUICK)
    kept = load(tmp_path / "run" / "character.glb")
    assert kept.skeleton is not None
    assert found.character.skeleton is not None
    assert found.character.skeleton.names == kept.skeleton.names
    assert load(tmp_path / "run" / "motion.glb").clips[0].name == "walks"
    # A finished run needs the program no more.
    (tmp_path / "bare.glb").unlink()
    assert run("", resume=tmp_path / "run").report["read_as"] == "walk"


def test_what_cannot_be_animated_is_not_made(tmp_path: Path) -> None:
    making = MakerOptions(f"{sys.executable} -c 'raise SystemExit(1)' {{out}}")
    with pytest.raises(KinemaError, match="does not walk"):
        run("a pug in a cape", "does not walk", out=tmp_path / "run", making=making)
    with pytest.raises(KinemaError, match="failed with code 1"):
        run("a pug in a cape", "walks", out=tmp_path / "run", making=making)
    assert not (tmp_path / "run").exists()


def test_a_file_is_not_made(tmp_path: Path) -> None:
    write(tmp_path / "fox.glb", creature("a fox", detail="low"))
    with pytest.raises(KinemaError, match="is a file; --with"):
        run(tmp_path / "fox.glb", "walks", out=tmp_path / "run", making=MakerOptions("shap-e"))
