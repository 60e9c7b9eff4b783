"""Any right-angled turn, unit and height of a file is found, or taken as told, and can be undone."""

import itertools

import numpy as np
import pytest

from kinema.asset.character import Clip, Frame, Skeleton
from kinema.asset.rigs.orientation import (
    FrameOptions,
    _shape_facing,
    apply_frame,
    find_frame,
    place_clip,
    place_skeleton,
    words,
)
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.geometry.rotations import bone_offsets, place_joints, to_matrix


def _quadruped() -> tuple[np.ndarray, Skeleton]:
    """In our world: faces +Z, its left is +X, soles at y = 0."""
    rng = np.random.default_rng(0)
    names = ("hips", "spine", "neck", "head", "tail") + tuple(
        f"{end}_{part}.{side}" for end in ("front", "back") for side in ("L", "R") for part in ("leg", "foot")
    )
    heads = [[0, 1, -0.6], [0, 1, 0], [0, 1.1, 0.6], [0, 1.4, 0.9], [0, 1, -0.8]]
    parents = [-1, 0, 1, 2, 0]
    for z, above in ((0.6, 1), (-0.6, 0)):
        for x in (0.2, -0.2):
            parents += [above, len(parents)]
            heads += [[x, 0.9, z], [x, 0.1, z]]
    heads = np.array(heads)
    tails = heads + [0, -0.05, 0.02]
    clouds = [head + rng.uniform(-0.1, 0.1, (40, 3)) for head in heads]
    return np.concatenate(clouds), Skeleton(names, tuple(parents), heads, tails)


ROTATIONS = [
    np.stack((a, b, np.cross(a, b)))
    for a, b in itertools.product([s * row for row in np.eye(3) for s in (1, -1)], repeat=2)
    if a @ b == 0
]


@pytest.mark.parametrize("turn", ROTATIONS, ids=lambda turn: "".join(str(int(x)) for x in turn.ravel()))
def test_all_twenty_four_turns_are_found_from_names(turn: np.ndarray) -> None:
    vertices, skeleton = _quadruped()
    frame, _ = find_frame(
        vertices @ turn.T,
        Skeleton(skeleton.names, skeleton.parents, skeleton.heads @ turn.T, skeleton.tails @ turn.T),
    )
    np.testing.assert_allclose(frame.rotation @ turn, np.eye(3))
    assert np.linalg.det(frame.rotation) == pytest.approx(1)


@pytest.mark.parametrize(("unit", "scale"), [(1.0, 1.0), (100.0, 0.01), (1000.0, 0.001), (0.002, 1000.0)])
def test_units_are_found_and_the_body_stands_on_the_ground(unit: float, scale: float) -> None:
    vertices, _ = _quadruped()
    file = (vertices + [0, 3, 0]) * unit
    frame, lines = find_frame(file, None, FrameOptions(up="y", facing="z"))
    assert frame.scale == pytest.approx(scale)
    placed = apply_frame(frame, file)
    assert placed[:, 1].min() == pytest.approx(0, abs=1e-9)
    assert any("stands on y = 0" in line for line in lines)


def test_what_is_told_overrides_what_is_found() -> None:
    vertices, skeleton = _quadruped()
    frame, _ = find_frame(vertices, skeleton, FrameOptions(up="-x", facing="+z", scale=2.5, ground=0.25))
    np.testing.assert_allclose(frame.rotation @ [-1, 0, 0], [0, 1, 0])
    np.testing.assert_allclose(frame.rotation @ [0, 0, 1], [0, 0, 1])
    assert frame.scale == 2.5
    np.testing.assert_allclose(frame.translation, [0, -0.625, 0])


@pytest.mark.parametrize(
    "wrong", [{"up": "w"}, {"up": "y", "facing": "-y"}, {"scale": 0.0}, {"scale": float("nan")}, {"ground": np.inf}]
)
def test_nonsense_is_one_line(wrong: dict) -> None:
    with pytest.raises(KinemaError):
        find_frame(_quadruped()[0], None, FrameOptions(**wrong))


def test_a_mesh_without_names_faces_where_its_head_is_high() -> None:
    vertices, _ = _quadruped()
    vertices = np.concatenate((vertices, vertices * [-1, 1, 1]))
    for turn in (np.eye(3), np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0.0]]), np.diag([-1, 1, -1.0])):
        frame, _ = find_frame(vertices @ turn.T, None)
        np.testing.assert_allclose(frame.rotation @ turn, np.eye(3), atol=1e-12)


def test_the_thick_end_of_a_spider_is_not_its_face() -> None:
    up, ahead = np.eye(3)[1], np.eye(3)[2]
    odds = [_shape_facing(creature(words, detail="low").mesh.vertices, up, ahead) for words in ("a spider", "an ant")]
    assert odds == [0.0, 0.0]
    assert _shape_facing(creature("a fox", detail="low").mesh.vertices, up, ahead) > 0


def test_placing_a_skeleton_and_a_clip_commutes_with_posing_it() -> None:
    rng = np.random.default_rng(0)
    _, skeleton = _quadruped()
    frame = Frame(ROTATIONS[7], 0.3, np.array([0.1, 0.2, 0.3]))
    wxyz = rng.normal(size=(4, len(skeleton.names), 4))
    clip = Clip("x", 30.0, rng.normal(0, 1, (4, 3)), wxyz)
    before = apply_frame(frame, _pose(skeleton, clip).reshape(-1, 3))
    after = _pose(place_skeleton(skeleton, frame), place_clip(clip, frame)).reshape(-1, 3)
    np.testing.assert_allclose(after, before, atol=1e-12)


def _pose(skeleton: Skeleton, clip: Clip) -> np.ndarray:
    offsets, local = bone_offsets(skeleton.parents, skeleton.heads), to_matrix(clip.wxyz_parent_joint)
    return place_joints(skeleton.parents, offsets, local, clip.root_position)[0]


def _nameless(count: int) -> Skeleton:
    """A chain that lies along Z, which says nothing about what is in front."""
    heads = np.stack((np.zeros(count), np.full(count, 0.5), np.linspace(-0.5, 0.5, count)), -1)
    return Skeleton(tuple(f"Bone.{i:03d}" for i in range(count)), (-1, *range(count - 1)), heads, heads + 0.01)


CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (0, 1) for z in (-0.5, 0.5)])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_swimmer_waves_its_rear(sign: int) -> None:
    skeleton, phase = _nameless(5), np.linspace(0, 2 * np.pi, 20)
    sway = np.linspace(1, 0, 5)[::sign] ** 2 * np.sin(phase)[:, None]
    place = skeleton.heads + 0.2 * sway[..., None] * np.array([1.0, 0, 0])
    frame, _ = find_frame(CORNERS, skeleton, moves=[("Fish|Swimming_Fast", place)])
    np.testing.assert_allclose(frame.rotation[2], [0, 0, sign])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("travels", [True, False], ids=["travels", "in place"])
def test_a_walker_advances_over_its_feet(sign: int, travels: bool) -> None:
    heads = np.array([[0, 1.0, 0], [0.1, 0, 0], [-0.1, 0, 0]])
    skeleton = Skeleton(("a", "b", "c"), (-1, 0, 0), heads, heads - [0, 0.1, 0])
    phase = np.linspace(0, 2 * np.pi, 41)
    place = np.repeat(heads[None], 41, 0)
    for foot, shift in ((1, 0.0), (2, np.pi)):
        # Stance goes back at the body's pace while the foot is down.
        place[:, foot, 2] += 0.3 * sign * np.cos(phase + shift)
        place[:, foot, 1] += 0.2 * np.maximum(0, -np.sin(phase + shift))
    if travels:
        place[..., 2] += (0.6 / np.pi * sign * phase)[:, None]
    frame, _ = find_frame(CORNERS, skeleton, moves=[("Walk", place), ("Walk_Backward", place[::-1])])
    np.testing.assert_allclose(frame.rotation[2], [0, 0, sign])


def test_a_face_outweighs_sides_that_are_named_as_the_viewer_sees_them() -> None:
    names = ("body", "eyes", "l-frontleg", "r-frontleg", "l-backleg", "r-backleg")
    heads = np.array(
        [[0, 0.3, 0], [0, 0.35, 0.3], [-0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [-0.4, 0.3, -0.3], [0.4, 0.3, -0.3]]
    )
    frame, _ = find_frame(CORNERS, Skeleton(names, (-1, 0, 0, 0, 0, 0), heads, heads - [0, 0.1, 0]))
    np.testing.assert_allclose(frame.rotation[2], [0, 0, 1])


def test_half_a_rig_does_not_lie_on_its_side() -> None:
    heads = np.array([[0, 0.2, 0], [0.4, 0, 0]])
    frame, _ = find_frame(CORNERS, Skeleton(("Body", "Foot.L"), (-1, 0), heads, heads - [0, 0.1, 0]))
    np.testing.assert_allclose(frame.rotation[1], [0, 1, 0])


def test_names_are_cut_into_words() -> None:
    assert words("FrontLowerLeg.L") == ["front", "lower", "leg", "l"]
    assert words("mixamorig:LeftUpLeg") == ["mixamorig", "left", "up", "leg"]
    assert words("IKBackLeg.R") == ["ik", "back", "leg", "r"]
    assert words("b_Tail02_013") == ["b", "tail"]
    assert words("l-frontleg001") == ["l", "front", "leg"]
