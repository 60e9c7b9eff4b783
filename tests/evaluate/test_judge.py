"""`kinema eval`: metrics of clips in every form that a user may have them, and the prior's opinion."""

import json
from pathlib import Path

import pytest

from kinema.cli.main import main
from kinema.create.creatures import creature
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.motion.motion import save_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def horse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A procedural walk as GLB, BVH and NPZ."""
    folder = tmp_path_factory.mktemp("horse")
    body = creature("horse")
    assert body.skeleton is not None
    rig = Rig.from_skeleton(body.skeleton)
    motion, _ = make_motion(rig, find_limbs(body), "walk", frames=49, fps=24.0)
    for suffix in ("glb", "bvh"):
        write(folder / f"horse.{suffix}", body, motion, name="walk")
    save_motion(folder / "horse.npz", motion, rig)
    return folder


def said(arguments: list[str], capsys: pytest.CaptureFixture) -> dict:
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_a_walk_is_a_walk_in_every_form(horse: Path, capsys: pytest.CaptureFixture) -> None:
    forms = (
        [str(horse / "horse.glb")],
        ["horse", "--motion", str(horse / "horse.npz")],
        ["horse", "--motion", str(horse / "horse.bvh")],
        [str(horse / "horse.glb"), "--motion", "walk"],
    )
    found = [said(["eval", *form], capsys)["metrics"] for form in forms]
    for metrics in found:
        assert metrics["gait"] == "walk"
        assert metrics["slide"] < 0.05
        assert metrics["period"] == pytest.approx(found[0]["period"], rel=0.02)
        assert metrics["speed"] == pytest.approx(found[0]["speed"], rel=0.02)


def test_the_prior_is_asked_where_there_is_a_sentence(horse: Path, capsys: pytest.CaptureFixture) -> None:
    verdict = said(["eval", str(horse / "horse.glb"), "--prompt", "a horse is walking"], capsys)
    assert verdict["text"]["prompt"] == "a horse is walking"
    assert 0.2 < verdict["text"]["error"] < 5
    assert set(verdict["text"]["others"]) == {"walking", "trotting", "running", "hopping", "standing still"}
    assert "text" not in said(["eval", str(horse / "horse.glb"), "--prompt", "walking", "--no-score"], capsys)
    main(["eval", str(horse / "horse.glb"), "--prompt", "walking"])
    lines = capsys.readouterr().out.splitlines()
    assert "gait               walk" in lines[1]
    assert "'walking'" in lines[-2]
    assert lines[-3].startswith("verdict green")
    assert (
        said(["eval", str(horse / "horse.glb"), "--prompt", "standing still", "--no-score"], capsys)["verdict"][
            "colour"
        ]
        == "red"
    )
