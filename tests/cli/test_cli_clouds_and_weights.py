"""`kinema render --splats` films another cloud than the mesh's own, `kinema rig --visibility` sees bones by choice."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from kinema.asset.load import load
from kinema.cli.main import main
from kinema.create.creatures import creature
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs
from kinema.splat.ply import write_ply
from kinema.splat.splats import Splats


def test_a_cloud_is_filmed_in_place_of_the_mesh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fox = creature("fox")
    assert fox.skeleton is not None
    motion, _ = make_motion(Rig.from_skeleton(fox.skeleton), find_limbs(fox), "walk", frames=3, fps=12.0)
    write(tmp_path / "walk.glb", fox, motion, name="walk")
    splats, _ = Splats.from_mesh(load(tmp_path / "walk.glb").mesh, 600, rng=np.random.default_rng(0))
    green = torch.tensor([0.0, 1.0, 0.0]).expand(len(splats), 1, 3)
    write_ply(tmp_path / "green.ply", replace(splats, sh=(green - 0.5) / 0.28209479))
    size = ["--width", "48", "--height", "36"]
    film = ["render", str(tmp_path / "walk.glb"), "--motion", "walk", *size]
    seen = {}
    for name, more in (("mesh", []), ("cloud", ["--splats", str(tmp_path / "green.ply")])):
        main([*film, "-o", str(tmp_path / f"{name}.png"), *more])
        picture = np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB")).astype(int)
        seen[name] = (picture[..., 1] > picture[..., [0, 2]].max(-1) + 60).mean()
    assert seen["mesh"] < 0.01
    assert seen["cloud"] > 0.05
    (tmp_path / "bad.ply").write_bytes(b"ply\nbroken")
    with pytest.raises(SystemExit) as left:
        main([*film, "-o", str(tmp_path / "bad.png"), "--splats", str(tmp_path / "bad.ply")])
    assert left.value.code == 1
    told = capsys.readouterr().err.strip()
    assert "bad.ply" in told
    assert "\n" not in told
    assert not (tmp_path / "bad.png").exists()


def test_weights_by_rays_differ_from_those_of_the_field(tmp_path: Path) -> None:
    import trimesh

    fox = creature("fox")
    trimesh.Trimesh(fox.mesh.vertices, fox.mesh.faces, process=False).export(tmp_path / "fox.obj")
    write(tmp_path / "joints.json", fox)
    weights = []
    for how in ("field", "rays"):
        out = tmp_path / f"{how}.glb"
        skeleton = ["--skeleton", str(tmp_path / "joints.json")]
        main(["rig", str(tmp_path / "fox.obj"), "-o", str(out), *skeleton, "--visibility", how])
        found = load(out).weights
        assert found is not None
        weights.append(found)
    assert weights[0].shape == weights[1].shape
    assert np.abs(weights[0] - weights[1]).max() > 0.01
    assert (weights[0].argmax(1) == weights[1].argmax(1)).mean() > 0.9
