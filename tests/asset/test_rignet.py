"""RigNet's text files: what is read, what is refused with its line, and rigs of other files on a mesh."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from kinema.asset.character import Character
from kinema.asset.load import load
from kinema.asset.rignet import read_rignet, write_rignet
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.export.write import write

GOOD = """\

joints hips 0 1.0e-1 0
joints   chest 0.0 5E-1 -1e-3

joints head 0 .9 0
root hips
hier hips chest
hier chest head
skin 0 hips 0.25 chest 0.75
skin 1 head 2.0
"""


def text_file(folder: Path, text: str) -> Path:
    path = folder / "rig.txt"
    path.write_text(text)
    return path


def test_joints_parents_and_weights_are_read(tmp_path: Path) -> None:
    rig = read_rignet(text_file(tmp_path, GOOD))
    assert rig.skeleton.names == ("hips", "chest", "head")
    assert rig.skeleton.parents == (-1, 0, 1)
    np.testing.assert_allclose(rig.skeleton.heads, [[0, 0.1, 0], [0, 0.5, -0.001], [0, 0.9, 0]])
    np.testing.assert_allclose(rig.skeleton.tails[0], rig.skeleton.heads[1])
    assert rig.weights is not None
    np.testing.assert_allclose(rig.weights, [[0.25, 0.75, 0], [0, 0, 1]])  # rows are normalised


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("joints neck 0 1", "rig.txt:11: 'joints neck 0 1' is not `joints NAME x y z`"),
        ("joints neck 0 one 0", "rig.txt:11: "),
        ("joints neck 0 nan 0", "rig.txt:11: joint 'neck' lies at"),
        ("joints head 0 1 0", "rig.txt:11: a second joint 'head'"),
        ("root chest", "rig.txt:11: 'root chest' is not the one line"),
        ("hier head", "rig.txt:11: 'hier head' is not `hier PARENT CHILD`"),
        ("hier hips head", "rig.txt:11: 'head' has a second parent 'hips'"),
        ("hier head tail", "rig.txt:11: names the joint 'tail'"),
        ("skin 2 head", "rig.txt:11: 'skin 2 head' is not"),
        ("skin 2 head x", "rig.txt:11: 'skin 2 head x' is not"),
        ("skin 2 head -1", "rig.txt:11: vertex 2 has the weight -1.0"),
        ("skin 1 head 1", "rig.txt:11: a second line for vertex 1"),
        ("skin 5 head 1", "rig.txt: has no line `skin` for vertex 2"),
        ("skin 99999999999 head 1", "rig.txt:11: vertex 99999999999"),
        ("bones head", "rig.txt:11: begins with 'bones'"),
        ("joints stray 0 1 0", "rig.txt: joint 'stray' has no parent"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(KinemaError) as error:
        read_rignet(text_file(tmp_path, f"{GOOD}{line}\n"))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no line `joints"),
        ("joints a 0 0 0\njoints b 0 1 0\nhier a b\nhier b a\n", "joints without a parent"),
        ("joints a 0 0 0\njoints b 0 1 0\nroot a\nhier b a\n", "its root 'a' is the child of 'b'"),
        ("joints a 0 0 0\njoints b 0 1 0\njoints c 0 1 0\nroot a\nhier b c\nhier c b\n", "is its own ancestor"),
    ],
)
def test_what_is_no_tree_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(KinemaError, match=said):
        read_rignet(text_file(tmp_path, text))


@pytest.fixture(scope="module")
def fox() -> Character:
    return creature("fox", detail="low")


@pytest.fixture(scope="module")
def mesh(fox: Character, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mesh") / "fox.obj"
    trimesh.Trimesh(fox.mesh.vertices, fox.mesh.faces, process=False).export(path)
    return path


def test_weights_that_would_fill_the_memory_are_refused(tmp_path: Path) -> None:
    """Every line gives a row of all joints: 2 MB would become 800."""
    lines = ["root j0", *(f"joints j{j} 0 {j} 0" for j in range(1000)), *(f"hier j{j} j{j + 1}" for j in range(999))]
    lines += [f"skin {vertex} j0 1" for vertex in range(100_000)]
    with pytest.raises(KinemaError, match="weights of 100000 vertices on 1000 joints would take 1600 MB"):
        read_rignet(text_file(tmp_path, "\n".join(lines)))


def test_a_rig_survives_its_text(fox: Character, mesh: Path, tmp_path: Path) -> None:
    write_rignet(tmp_path / "fox.txt", fox)
    again = load(mesh, skeleton=tmp_path / "fox.txt", weights=True)
    assert again.skeleton is not None
    assert fox.skeleton is not None
    assert fox.weights is not None
    order = [again.skeleton.names.index(name) for name in fox.skeleton.names]
    np.testing.assert_allclose(again.skeleton.heads[order], fox.skeleton.heads, atol=1e-6)
    assert again.weights is not None
    np.testing.assert_allclose(again.weights[:, order], fox.weights, atol=1e-5)


@pytest.mark.parametrize("side", [1.0, 2.0])
def test_joints_of_a_normalised_mesh_come_back_to_it(fox: Character, mesh: Path, tmp_path: Path, side: float) -> None:
    # The mesh in [-0.5, 0.5] or [-1, 1], as learned riggers leave it.
    low, high = fox.mesh.vertices.min(axis=0), fox.mesh.vertices.max(axis=0)
    assert fox.skeleton is not None
    heads = (fox.skeleton.heads - (low + high) / 2) * side / (high - low).max()
    lines = [f"joints j{k} {x} {y} {z}" for k, (x, y, z) in enumerate(heads)] + ["root j0"]
    lines += [f"hier j{p} j{k}" for k, p in enumerate(fox.skeleton.parents) if p >= 0]
    again = load(mesh, skeleton=text_file(tmp_path, "\n".join(lines)), weights=True)
    assert again.skeleton is not None
    order = [again.skeleton.names.index(f"j{k}") for k in range(len(heads))]
    np.testing.assert_allclose(again.skeleton.heads[order], fox.skeleton.heads, atol=1e-5)
    assert any("normalised" in line for line in again.changes)


def test_a_glb_gives_joints_and_weights_though_it_is_turned_and_scaled(
    fox: Character, mesh: Path, tmp_path: Path
) -> None:
    # Z up and three times as large, as a program that goes through Blender may leave it.
    from dataclasses import replace

    from kinema.asset.character import Frame
    from kinema.asset.rigs.orientation import apply_frame, place_skeleton

    turn = Frame(np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), 3.0, np.array([1.0, 2.0, 3.0]))
    assert fox.skeleton is not None
    moved = replace(
        fox,
        mesh=replace(fox.mesh, vertices=apply_frame(turn, fox.mesh.vertices)),
        skeleton=place_skeleton(fox.skeleton, turn),
    )
    write(tmp_path / "rigged.glb", moved)
    again = load(mesh, skeleton=tmp_path / "rigged.glb", weights=True)
    assert again.skeleton is not None
    assert again.weights is not None
    assert fox.weights is not None
    order = [again.skeleton.names.index(name) for name in fox.skeleton.names]
    np.testing.assert_allclose(again.skeleton.heads[order], fox.skeleton.heads, atol=1e-3)
    assert np.abs(again.weights[:, order] - fox.weights).sum(axis=1).mean() < 0.02


def test_weights_of_another_mesh_are_left_out(fox: Character, mesh: Path, tmp_path: Path) -> None:
    write_rignet(tmp_path / "fox.txt", fox)
    text = "\n".join(line for line in (tmp_path / "fox.txt").read_text().splitlines() if "skin 9" not in line)
    short = [line for line in text.splitlines() if not line.startswith("skin") or int(line.split()[1]) < 9]
    again = load(mesh, skeleton=text_file(tmp_path, "\n".join(short)), weights=True)
    assert again.weights is None
    assert any("weights of 9 vertices" in line for line in again.changes)
