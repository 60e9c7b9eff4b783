"""Guided video: control films show the motion, real pipelines at toy size paint, and the embedded prior is refitted."""

import json
import sys
from pathlib import Path

import pytest
import torch

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.job import film as job
from kinema.job.film import GuidedFilm, film
from kinema.motion.motion import Motion, load_motion
from kinema.render.controls import Controls, project, render_controls
from kinema.rig.kinematics import Rig

sys.path.insert(0, str(Path(__file__).parents[1] / "prior"))
import toy_checkpoints


@pytest.fixture(scope="module")
def controls(fox: Character, walk: Motion) -> Controls:
    return render_controls(fox, walk[:5], width=96, height=64, count=4000)


def test_control_films_show_one_body(controls: Controls) -> None:
    body = controls.mask[:, 0] > 0.5
    assert 0.05 < float(body.float().mean()) < 0.5
    # Depth is black outside of the body, and its nearest point is white.
    assert float(controls.depth[:, 0][~body].max()) == 0
    assert float(controls.depth.max()) == pytest.approx(1.0)
    assert float(controls.depth[:, 0][body].min()) >= 0.25 - 1e-6
    # The outline is an edge: each border pixel of the mask has one within a pixel.
    near = torch.nn.functional.max_pool2d(controls.edges[:, :1], 3, stride=1, padding=1)[:, 0] > 0
    border = body & (torch.nn.functional.avg_pool2d(body[:, None].float(), 3, stride=1, padding=1)[:, 0] < 0.7)
    assert float(near[border].float().mean()) > 0.95
    # Bones lie inside the body.
    sticks = controls.sticks.sum(1) > 0
    assert float(body[sticks].float().mean()) > 0.85


def test_points_are_projected_to_where_they_are_drawn(fox: Character) -> None:
    from kinema.geometry.camera import Cameras

    cameras = Cameras.look_at(torch.tensor([[0.0, 0, 2]]), torch.zeros(1, 3), fovy_deg=90.0, width=20, height=10)
    # fovy 90°: at distance 2 the picture is 4 m high, 2.5 px per metre; x of the world is to the right.
    places = project(torch.tensor([[[0.0, 0, 0], [1.0, 1.0, 0.0]]]), cameras)
    torch.testing.assert_close(places, torch.tensor([[[10.0, 5.0], [12.5, 2.5]]]))


@pytest.mark.parametrize(("name", "control"), [("wan-vace", "depth"), ("wan-vace", "body"), ("cogvideox-fun", "edges")])
def test_real_pipelines_paint_the_motion(
    tmp_path: Path, fox: Character, walk: Motion, name: str, control: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("diffusers")
    make = {"wan-vace": toy_checkpoints.wan_vace, "cogvideox-fun": lambda f: toy_checkpoints.cogvideox(f, image=True)}
    make[name](tmp_path / "toy")
    monkeypatch.setattr(job, "render_controls", lambda *a, **k: render_controls(*a, **k, count=1500))
    size = (9, 32, 48)
    options = GuidedFilm("a fox is trotting", f"{name}={tmp_path / 'toy'}", control, size=size, steps=2)  # pyright: ignore
    report = film(options, fox, walk, tmp_path / "out")
    assert report["frames"] == (9 if name == "wan-vace" else report["frames"])
    for file in ("guided.mp4", "depth.mp4", "edges.mp4", "sticks.mp4", "mask.mp4", "first_frame.png", "report.json"):
        assert (tmp_path / "out" / file).stat().st_size > 0
    assert json.loads((tmp_path / "out" / "report.json").read_text())["control"] == control


def test_every_mistake_is_one_line_and_leaves_nothing(tmp_path: Path, fox: Character, walk: Motion) -> None:
    out = tmp_path / "out"
    (tmp_path / "empty").mkdir()
    cases = [
        (GuidedFilm("..."), "no words"),
        (GuidedFilm("a fox", strength=2.0), "--strength"),
        (GuidedFilm("a fox", "sora"), "--with sora: unknown; known are wan-vace"),
        (GuidedFilm("a fox", "cogvideox-fun"), "give its checkpoint"),
        (GuidedFilm("a fox", "wan-vace=/no/such/folder"), "no such folder"),
        (GuidedFilm("a fox", f"wan-vace={tmp_path / 'empty'}"), "model_index.json: no such file"),
        (GuidedFilm("a fox does not walk", size=(4, 8, 8)), ""),
    ]
    for options, line in cases[:-1]:
        with pytest.raises(KinemaError, match=line) as caught:
            film(options, fox, walk, out)
        assert "\n" not in str(caught.value)
    moved = Motion(walk.root_position, walk.angles, walk.fps, torch.zeros_like(walk.angles))
    with pytest.raises(KinemaError, match="away from their places"):
        film(cases[-1][0], fox, moved, out)
    assert not out.exists()


def test_sizes_that_a_model_cannot_make_are_said(tmp_path: Path, fox: Character, walk: Motion) -> None:
    pytest.importorskip("diffusers")
    toy_checkpoints.wan_vace(tmp_path)
    with pytest.raises(KinemaError, match="--size 30 48: wan-vace needs multiples of 16"):
        film(GuidedFilm("a fox", f"wan-vace={tmp_path}", size=(9, 30, 48)), fox, walk, tmp_path / "out")


@pytest.mark.slow
def test_nano_is_guided_and_refitted(tmp_path: Path, fox: Character, rig: Rig, walk: Motion) -> None:
    """Words that name no motion leave it a walk; little noise leaves the joints near where they were."""
    report = film(GuidedFilm("a photo of a fox in the snow", strength=0.3, size=(4, 48, 64)), fox, walk, tmp_path)
    assert report["read_as"] == "walk"
    assert len(load_motion(tmp_path / "refitted.npz", rig)) == len(walk)
    assert 0 < report["difference_deg"] < 15
