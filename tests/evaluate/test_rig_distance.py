"""Distances between rigs in closed form."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.cli.main import main
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.evaluate.rig_distance import bone_points, rig_distance
from kinema.export.write import write


def bar(heads: list[list[float]], *, height: float = 2.0) -> Character:
    """A box of the given height with a chain of joints, each of which carries the corners at its number."""
    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (0.0, height) for z in (-0.1, 0.1)])
    faces = np.array([[0, 1, 2], [1, 3, 2], [4, 6, 5], [5, 6, 7]])
    places = np.array(heads, dtype=float)
    skeleton = Skeleton(
        tuple(f"j{k}" for k in range(len(heads))), tuple(range(-1, len(heads) - 1)), places, places + [0, 0.1, 0]
    )
    weights = np.eye(len(heads))[np.arange(8) % len(heads)]
    return Character("bar", Mesh(corners, faces, np.ones((8, 3))), skeleton, weights)


def test_a_rig_is_at_no_distance_from_itself() -> None:
    found = rig_distance(bar([[0, 0, 0], [0, 1, 0]]), bar([[0, 0, 0], [0, 1, 0]]))
    assert (found.j2j, found.j2b, found.b2b, found.weights_l1) == (0, 0, 0, 0)


def test_a_shift_across_the_bones_is_the_distance() -> None:
    # Joints at y = 0 and 1, all moved by 0.2 along x on a body of height 2: 0.2 / 2 by each measure.
    found = rig_distance(bar([[0.2, 0, 0], [0.2, 1, 0]]), bar([[0, 0, 0], [0, 1, 0]]))
    assert found.j2j == pytest.approx(0.1)
    assert found.j2b == pytest.approx(0.1)
    assert found.b2b == pytest.approx(0.1)


def test_one_more_joint_on_the_bone_counts_for_joints_only() -> None:
    # The middle joint is 0.5 from the ends of a bone of 1, on a body of 2: J2J = (0.25 / 3 + 0) / 2.
    found = rig_distance(bar([[0, 0, 0], [0, 0.5, 0], [0, 1, 0]]), bar([[0, 0, 0], [0, 1, 0]]))
    assert found.j2j == pytest.approx(0.25 / 3 / 2)
    assert found.j2b == pytest.approx(0, abs=1e-9)
    assert found.b2b == pytest.approx(0, abs=2e-3)


def test_bones_are_sampled_every_two_hundredth() -> None:
    points = bone_points(np.array([[0.0, 0, 0], [0, 1, 0]]), (-1, 0))
    gaps = np.diff(points[:, 1])
    assert len(points) == 201
    np.testing.assert_allclose(gaps, 0.005)
    assert len(bone_points(np.zeros((1, 3)), (-1,))) == 1


def test_weights_of_joints_with_other_names_go_to_the_nearest_joint() -> None:
    true = bar([[0, 0, 0], [0, 1, 0]])
    assert true.skeleton is not None
    renamed = replace(true, skeleton=replace(true.skeleton, names=("low", "high")))
    assert rig_distance(renamed, true).weights_l1 == pytest.approx(0)
    swapped = replace(renamed, skeleton=replace(true.skeleton, names=("a", "b"), heads=true.skeleton.heads[::-1]))
    assert rig_distance(swapped, true).weights_l1 == pytest.approx(2)  # every vertex on the wrong joint


def test_meshes_in_different_places_are_refused() -> None:
    with pytest.raises(KinemaError, match="not the same mesh in the same place"):
        rig_distance(bar([[0, 0, 0], [0, 1, 0]], height=3.0), bar([[0, 0, 0], [0, 1, 0]]))
    with pytest.raises(KinemaError, match="has no skeleton to compare"):
        rig_distance(replace(bar([[0, 0, 0]]), skeleton=None), bar([[0, 0, 0]]))


def test_the_command_compares_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    fox = creature("fox", detail="low")
    assert fox.skeleton is not None
    write(tmp_path / "true.glb", fox)
    shifted = replace(fox.skeleton, heads=fox.skeleton.heads + [0, 0.01, 0], tails=fox.skeleton.tails + [0, 0.01, 0])
    write(tmp_path / "guess.glb", replace(fox, skeleton=shifted))
    main(["eval-rig", str(tmp_path / "guess.glb"), str(tmp_path / "true.glb"), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["j2j"] <= 0.011 / np.ptp(fox.mesh.vertices, axis=0).max()
    assert found["weights_l1"] == pytest.approx(0, abs=1e-3)
    with pytest.raises(SystemExit):
        main(["eval-rig", str(tmp_path / "missing.glb"), str(tmp_path / "true.glb")])
    assert capsys.readouterr().err.count("\n") == 1
