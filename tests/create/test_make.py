"""Meshes that others make: Shap-E at a toy size, outside programs, and what is done to a mesh before it is rigged."""

import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

from kinema.asset.character import Character, Mesh
from kinema.asset.load import load
from kinema.create.creatures import creature
from kinema.create.make import make_character
from kinema.create.options import MakerOptions
from kinema.create.program import run_program
from kinema.create.tidy import decimate, tidy, weld, without_floaters
from kinema.errors import KinemaError
from kinema.export.write import write
from kinema.motion.source import rigged
from kinema.rig.limbs import find_limbs

COPY = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"


def ball(radius: float, at: tuple[float, float, float], *, fine: int = 2) -> Mesh:
    solid = trimesh.creation.icosphere(subdivisions=fine, radius=radius)
    vertices = np.asarray(solid.vertices) + at
    return Mesh(vertices, np.asarray(solid.faces), np.full((len(vertices), 3), 0.5))


def together(*meshes: Mesh) -> Mesh:
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    return Mesh(vertices, np.concatenate(faces), np.concatenate([mesh.colors for mesh in meshes]))


@pytest.fixture(scope="module")
def dog_file(tmp_path_factory) -> Path:
    """A bare mesh as a program would leave it."""
    path = tmp_path_factory.mktemp("dog") / "dog.glb"
    dog = creature("a dog", detail="low")
    write(path, Character("dog", dog.mesh))
    return path


def copy_of(file: Path) -> str:
    return f'{sys.executable} -c "{COPY}" {file} {{out}}'


def test_a_program_makes_a_mesh_that_is_rigged(dog_file):
    made = make_character("a pug in a cape", MakerOptions(copy_of(dog_file)))
    assert made.character.skeleton is None
    assert made.character.name == "a pug in a cape"
    found = rigged(made.character)
    assert len(find_limbs(found).legs) == 4


def test_the_program_is_told_the_words_and_the_picture_as_they_are(tmp_path, dog_file):
    script, picture = tmp_path / "make.py", tmp_path / "a picture.png"
    picture.write_bytes(b"png")
    words = 'a "pug"; rm -rf {out} $HOME'
    script.write_text(
        "import shutil, sys, pathlib\n"
        f"assert sys.argv[1] == {words!r}, sys.argv\n"
        "assert pathlib.Path(sys.argv[2].removeprefix('--image=')).read_bytes() == b'png'\n"
        f"shutil.copy({str(dog_file)!r}, sys.argv[3])\n"
    )
    command = f"{sys.executable} {script} {{prompt}} --image={{image}} {{out}}"
    found = run_program(command, words, picture, seconds=60.0)
    assert len(found.mesh.faces) > 1000


def test_another_format_is_asked_for_by_a_suffix(tmp_path):
    file = tmp_path / "ball.obj"
    trimesh.creation.icosphere(subdivisions=1).export(file)
    found = run_program(copy_of(file).replace("{out}", "{out}.obj"), "a ball", None, seconds=60.0)
    assert len(found.mesh.faces) == 80


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no_such_program {out}", "no_such_program: no such program"),
        ("{python} -c pass {out}", "ended well but left no mesh"),
        ("{python} -c 'import sys; print(1); sys.exit(\"out of memory\")' {out}", "failed with code 1: out of memory"),
        ("{python} -c 'import time; time.sleep(60)' {out}", "took longer than 1 s"),
        ("{python} -c 'import sys; open(sys.argv[1], \"w\")' {out}", "is an empty file"),
        ('{python} -c \'import sys; open(sys.argv[1], "w").write("mesh")\' {out}', "cannot be read"),
        ("{python} -c pass", "is neither shap-e nor a program with {out}"),
        ("{python} 'x {out}", "cannot be read"),
        ("{python} {image} {out}", "takes a picture; give one with --image"),
        ("", "names no program"),
    ],
)
def test_every_failure_of_a_program_is_one_line(command, said):
    with pytest.raises(KinemaError) as caught:
        run_program(command.replace("{python}", sys.executable), "a pug", None, seconds=1.0)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_mesh_is_refused(tmp_path):
    file = tmp_path / "empty.obj"
    file.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    with pytest.raises(KinemaError):
        run_program(copy_of(file).replace("{out}", "{out}.obj"), "a pug", None, seconds=60.0)


def test_built_in_bodies_take_no_picture(tmp_path):
    (tmp_path / "x.png").write_bytes(b"png")
    with pytest.raises(KinemaError, match="built-in bodies are made from words"):
        make_character("a dog", MakerOptions(image=tmp_path / "x.png"))
    with pytest.raises(KinemaError, match="no such file"):
        make_character("a dog", MakerOptions(image=tmp_path / "y.png"))


def test_vertices_are_welded():
    whole = ball(1.0, (0, 1, 0))
    apart = Mesh(whole.vertices[whole.faces].reshape(-1, 3), np.arange(3 * len(whole.faces)).reshape(-1, 3),
                 np.full((3 * len(whole.faces), 3), 0.5))  # fmt: skip
    welded = weld(apart)
    assert len(welded.vertices) == len(whole.vertices)
    assert trimesh.Trimesh(welded.vertices, welded.faces, process=False).is_watertight


def test_loose_parts_go_and_eyes_stay():
    body, eye, speck = ball(1.0, (0, 1, 0)), ball(0.1, (0, 1.5, 0.9)), ball(0.05, (0, 3, 0))
    kept, dropped = without_floaters(together(body, eye, speck))
    assert dropped == 1
    assert len(kept.vertices) == len(body.vertices) + len(eye.vertices)
    assert kept.vertices[:, 1].max() < 2.5


@pytest.mark.parametrize("most", [600, 3000])
def test_a_fine_mesh_becomes_coarser_and_keeps_its_shape(most):
    fine = ball(1.0, (0, 1, 0), fine=5)
    coarse = decimate(fine, most)
    assert 0.4 * most < len(coarse.faces) <= most
    radius = np.linalg.norm(coarse.vertices - [0, 1, 0], axis=-1)
    assert radius.min() > 0.93
    assert radius.max() < 1.001


def test_a_mesh_that_came_with_a_rig_keeps_it():
    fox = creature("a fox", detail="low")
    made = tidy(fox, most_faces=500)
    assert made.character is fox
    assert made.notes == ("it came with a rig of 25 joints",)


@pytest.mark.slow
def test_toy_shap_e_from_words_to_a_rigged_file(tmp_path):
    pytest.importorskip("diffusers")
    from toy_shap_e import save_toy

    from kinema.create.shap_e import shap_e

    folder = save_toy(tmp_path / "toy")
    made = tidy(shap_e("a pug in a cape", str(folder), steps=2, grid=40), most_faces=4000, usual_up="+z")
    assert 500 < len(made.character.mesh.faces) <= 4000
    low, high = made.character.mesh.vertices.min(0), made.character.mesh.vertices.max(0)
    assert low[1] == pytest.approx(0, abs=1e-9)
    # It was longest from front to back, and its legs were below it along z.
    assert high[2] - low[2] > high[0] - low[0]
    write(tmp_path / "pug.glb", rigged(made.character))
    back = load(tmp_path / "pug.glb")
    assert back.skeleton is not None
    assert len(back.skeleton.names) > 10


@pytest.mark.slow
def test_every_failure_of_shap_e_is_one_line(tmp_path):
    pytest.importorskip("diffusers")
    from toy_shap_e import save_toy

    from kinema.create.shap_e import shap_e

    empty = save_toy(tmp_path / "toy", empty=True)
    for words, folder, said in (
        ("a pug", str(empty), "no surface was found|the mesh is empty"),
        ("a pug", str(tmp_path / "nowhere"), "no such folder"),
        ("a pug", str(tmp_path), "cannot be loaded"),
        (" ", str(empty), "no words"),
    ):
        with pytest.raises(KinemaError, match=said) as caught:
            shap_e(words, folder, steps=1, grid=16)
        assert "\n" not in str(caught.value)
    (tmp_path / "x.png").write_bytes(b"png")
    with pytest.raises(KinemaError, match="shap-e is told words"):
        make_character("a pug", MakerOptions("shap-e", image=tmp_path / "x.png"))
