"""`kinema pose`: files out, and one line for bad input."""

import json
from pathlib import Path

import numpy as np
import pytest

from kinema.asset.load import load
from kinema.cli.main import main
from kinema.create.creatures import creature
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def walking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fox = creature("fox")
    assert fox.skeleton is not None
    motion, _ = make_motion(Rig.from_skeleton(fox.skeleton), find_limbs(fox), "walk", frames=10, fps=12.0)
    path = tmp_path_factory.mktemp("walk") / "walk.glb"
    write(path, fox, motion, name="walk")
    return path


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    from kinema.posespace.body import Body
    from kinema.posespace.model import PoseModel
    from kinema.posespace.weights import save_weights

    path = tmp_path_factory.mktemp("toy") / "toy.safetensors"
    model = PoseModel(width=16, layers=1, heads=2, generator=torch.Generator().manual_seed(0))
    save_weights(path, model, [Body.of(creature("fox"))] * 2, note={})
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    main([*map(str, words), "--json"])
    return json.loads(capsys.readouterr().out)


def fails(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    with pytest.raises(SystemExit) as stop:
        main([*map(str, words)])
    assert stop.value.code == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    return said[0]


def test_samples_are_frames_of_files(walking: Path, toy: Path, tmp_path: Path, capsys) -> None:
    for suffix in (".npz", ".glb", ".bvh", ".png"):
        out = tmp_path / f"poses{suffix}"
        found = run(capsys, "pose", "sample", walking, "-n", 3, "-o", out, "--weights", toy)
        assert found["poses"] == 3
        assert out.stat().st_size > 100
    with np.load(tmp_path / "poses.npz") as data:
        assert data["angles"].shape[0] == 3
    assert len(load(tmp_path / "poses.glb").clips[0].root_position) == 3


def test_ik_says_how_far_it_misses(walking: Path, toy: Path, tmp_path: Path, capsys) -> None:
    names = load(walking).skeleton.names  # pyright: ignore[reportOptionalMemberAccess]
    paw = names[find_limbs(load(walking)).legs[0].joints[-1]]
    out = tmp_path / "reach.npz"
    main(["pose", "ik", str(walking), "-o", str(out), "--weights", str(toy), "--target", f"{paw}=0,1,30"])
    assert "out of reach: the nearest point is" in capsys.readouterr().out
    assert out.exists()


def test_keyframes_and_walks_go_through_frames_of_a_clip(walking: Path, toy: Path, tmp_path: Path, capsys) -> None:
    keys = ["--key", "0:0", "0.5:5", "--fps", "10"]
    found = run(capsys, "pose", "keyframes", walking, "walk", "-o", tmp_path / "k.glb", "--weights", toy, *keys)
    assert found["frames"] == 6
    found = run(capsys, "pose", "walk", walking, "walk", "-n", 7, "-o", tmp_path / "w.npz", "--weights", toy, *keys)
    assert found["poses"] == 7


def test_check_names_frames_and_limbs(walking: Path, tmp_path: Path, capsys) -> None:
    found = run(capsys, "pose", "check", walking, "-o", tmp_path / "c.png")
    assert found["frames"] == len(found["share"]) == len(load(walking).clips[0].root_position)
    assert (tmp_path / "c.png").stat().st_size > 1000


def test_bad_input_is_one_line_and_writes_nothing(walking: Path, toy: Path, tmp_path: Path, capsys) -> None:
    out, tool = tmp_path / "o.npz", ("--weights", toy)
    assert "where to?" in fails(capsys, "pose", "sample", walking)
    assert "give .png" in fails(capsys, "pose", "sample", walking, "-o", tmp_path / "x.doc", *tool)
    assert "near are" in fails(capsys, "pose", "ik", walking, "-o", out, *tool, "--target", "hnad=1,2,3")
    assert "JOINT=X,Y,Z" in fails(capsys, "pose", "ik", walking, "-o", out, *tool, "--target", "nan=nan,1,2")
    assert "needs --target" in fails(capsys, "pose", "ik", walking, "-o", out, *tool)
    late = ("--key", "1:0", "0.5:3")
    assert "out of order" in fails(capsys, "pose", "keyframes", walking, "walk", "-o", out, *tool, *late)
    assert "the clip has frames 0 to" in fails(
        capsys, "pose", "walk", walking, "walk", "-o", out, *tool, "--key", "0:0", "1:99"
    )
    assert "SECONDS:FRAME" in fails(capsys, "pose", "walk", walking, "walk", "-o", out, *tool, "--key", "now")
    assert "no clip 'run'" in fails(capsys, "pose", "check", walking, "run")
    assert not out.exists()


def test_a_body_unlike_the_training_is_said(toy: Path, tmp_path: Path, capsys) -> None:
    main(["pose", "sample", "spider", "-n", "1", "-o", str(tmp_path / "s.npz"), "--weights", str(toy)])
    assert "unlike all that the pose space was trained on" in capsys.readouterr().err
