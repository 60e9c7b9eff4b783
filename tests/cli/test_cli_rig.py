"""`kinema rig`: what was found is said, drawn, saved, edited and taken back."""

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh

from kinema.asset.load import load
from kinema.cli.main import main
from kinema.create.creatures import creature


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fox = creature("fox", detail="low").mesh
    path = tmp_path_factory.mktemp("mesh") / "fox.obj"
    # Another size and place than ours, and Z up, as files come.
    vertices = 100 * fox.vertices @ np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]).T + [5, 5, 5]
    trimesh.Trimesh(vertices, fox.faces, process=False).export(path)
    return path


def test_a_rig_is_found_saved_edited_and_taken_back(
    mesh: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    up = ["--up", "+z", "--facing=-y"]
    saved, picture, out = tmp_path / "fox.json", tmp_path / "fox.png", tmp_path / "fox.glb"
    main(["rig", str(mesh), *up, "-o", str(saved), "--picture", str(picture), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["plan"] == "quadruped"
    assert 0.5 < found["confidence"] <= 1
    assert found["roles"]["legs"]["count"] == 4
    assert min(found["measures"], key=found["measures"].get) == found["form"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    # Someone moves the head up by a tenth and takes a joint away.
    content = json.loads(saved.read_text())
    assert set(content["roles"]) >= {"legs", "tails", "heads"}
    inner = {joint["parent"] for joint in content["joints"]}
    leaf = next(joint for joint in content["joints"] if joint["name"] not in inner and "tail" in joint["name"])
    content["joints"].remove(leaf)
    head = next(joint for joint in content["joints"] if joint["name"] == "head")
    head["head"][2] += 10.0
    saved.write_text(json.dumps(content))
    main(["rig", str(mesh), *up, "--from", str(saved), "-o", str(out)])
    rigged = load(out)
    assert rigged.skeleton is not None
    assert len(rigged.skeleton.names) == len(found["joints"]) - 1
    again = load(mesh, up="+z", facing="-y", skeleton=saved)
    assert again.skeleton is not None
    lifted = again.skeleton.heads[again.skeleton.names.index("head")]
    there = rigged.skeleton.heads[rigged.skeleton.names.index("head")]
    np.testing.assert_allclose(lifted, there, atol=1e-4)


def test_the_plan_may_be_given(mesh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["rig", str(mesh), "--up", "+z", "--facing=-y", "--body", "biped", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["plan"] == "biped"
    assert found["confidence"] == 1
    assert "front_left_upper" not in found["joints"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "missing.txt"], "missing.txt: no such file"),
        (["--from", "bad.txt"], "bad.txt:2: 'joints b 0' is not `joints NAME x y z`"),
        (["--from", "bad.txt", "--skeleton", "bad.txt"], "--from and --skeleton: give one of them"),
        (["--from", "far.txt"], "joints lie within fox"),
        (["--from", "rig.doc"], "a skeleton is read from"),
        (["--picture", "x.jpg"], "x.jpg: the picture is a .png"),
        (["--picture", "nowhere/x.png"], "there is no folder"),
        (["-o", "x.avi"], "cannot write .avi"),
        (["-o", "nowhere/x.json"], "there is no folder"),
    ],
)
def test_mistakes_are_one_line(
    mesh: Path, tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("bad.txt").write_text("joints a 0 0 0\njoints b 0\n")
    Path("rig.doc").write_text("joints a 0 0 0\n")
    chain = "".join(f"joints j{k} 1e6 {k}e5 0\n" for k in range(6)) + "root j0\n"
    Path("far.txt").write_text(chain + "".join(f"hier j{k} j{k + 1}\n" for k in range(5)))
    with pytest.raises(SystemExit) as stop:
        main(["rig", str(mesh), *arguments])
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
