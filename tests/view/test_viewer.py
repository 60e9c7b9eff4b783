"""The viewer's parts without a browser: what is drawn is what the motion says."""

import base64
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("viser")

import msgspec
import zstandard

from kinema.asset.character import Character, Mesh
from kinema.errors import KinemaError
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.geometry.rotations import runs
from kinema.geometry.transforms import euler_to_matrix
from kinema.motion.loop import cut_cycle
from kinema.motion.motion import Motion, rotation_angles, save_motion
from kinema.motion.source import find_motion
from kinema.rig.ik import joint_angles
from kinema.rig.kinematics import Rig, forward_kinematics
from kinema.rig.limbs import find_limbs
from kinema.skin import Skin, blend, skin_points
from kinema.view.contacts import Contacts
from kinema.view.exhibit import Exhibit, find_exhibit
from kinema.view.notebook import play
from kinema.view.page import Box, Page, travel_path
from kinema.view.palette import COLORS, pieces_of
from kinema.view.server import Address
from kinema.view.viewer import Viewer


def test_pieces_are_the_mesh(fox: Character) -> None:
    """Every face is in exactly one piece, with its corners where the mesh has them."""
    pieces = pieces_of(fox.mesh)
    positions = pieces.positions(fox.mesh.vertices)
    shown = np.concatenate([at[piece.faces] for at, piece in zip(positions, pieces.pieces, strict=True)])
    assert len(pieces.pieces) <= COLORS
    assert {t.tobytes() for t in shown} == {t.tobytes() for t in fox.mesh.vertices[fox.mesh.faces]}
    assert len(shown) == len(fox.mesh.faces)


def test_texture_survives_on_a_coarse_mesh() -> None:
    """Two triangles with a black and a white half: area of each colour is kept, and the surface too."""
    texture = np.full((8, 8, 4), 255, np.uint8)
    texture[:, :4, :3] = 0
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    uv = corners[:, :2].copy()
    mesh = Mesh(corners, faces, np.ones((4, 3)), uv, (texture,), np.zeros(2, np.int64))
    pieces = pieces_of(mesh)
    area = {}
    for piece, at in zip(pieces.pieces, pieces.positions(corners), strict=True):
        a, b, c = at[piece.faces].swapaxes(0, 1)
        key = int(piece.color[0]) > 127
        area[key] = area.get(key, 0.0) + float(np.linalg.norm(np.cross(b - a, c - a), axis=-1).sum() / 2)
    assert area[True] + area[False] == pytest.approx(1.0)
    # The bilinear border between the halves is an eighth wide, and its middle is where the colours meet.
    assert area[False] == pytest.approx(0.5, abs=0.02)


def test_divided_pieces_follow_the_skinned_corners() -> None:
    """A linear map of the corners maps every new vertex the same way."""
    rng = np.random.default_rng(0)
    corners, texture = rng.normal(size=(5, 3)), rng.integers(0, 255, (16, 16, 4)).astype(np.uint8)
    faces = np.array([[0, 1, 2], [0, 2, 3], [1, 2, 4]])
    mesh = Mesh(corners, faces, np.ones((5, 3)), rng.random((5, 2)), (texture,), np.zeros(3, np.int64))
    pieces, matrix = pieces_of(mesh), rng.normal(size=(3, 3))
    for before, after in zip(pieces.positions(corners), pieces.positions(corners @ matrix), strict=True):
        np.testing.assert_allclose(before @ matrix, after, atol=1e-12)


def test_joint_angles_invert_kinematics(fox: Character) -> None:
    """forward_kinematics(angles) gives world rotations from which joint_angles reads the same angles."""
    generator = torch.Generator().manual_seed(0)
    assert fox.skeleton is not None
    exact = Rig.from_skeleton(fox.skeleton, dtype=torch.float64)
    angles = 0.6 * torch.randn(len(exact.parents), 3, generator=generator, dtype=torch.float64)
    pose = forward_kinematics(exact, exact.heads[0], angles)
    for joint, parent in enumerate(exact.parents):
        above = pose[parent, :, :3] if parent >= 0 else torch.eye(3, dtype=torch.float64)
        found = joint_angles(exact, joint, above, pose[joint, :, :3])
        torch.testing.assert_close(euler_to_matrix(found), euler_to_matrix(angles[joint]), atol=1e-9, rtol=0)


def test_constant_velocity_is_followed_exactly(rig: Rig) -> None:
    """At rest the path is zero; whether the root travels or all joints below it do is the same."""
    velocity = torch.tensor([0.3, 0.0, 1.1])
    path = torch.arange(40)[:, None] * velocity / 24 + torch.tensor([0.0, 0.0, 2.0])
    rest = Motion.rest(rig, frames=40, fps=24.0)
    moved = replace(rest, root_position=rest.root_position + path + torch.tensor([0.0, 0.5, 0.0]))
    np.testing.assert_allclose(travel_path(rig, moved), path.numpy(), atol=1e-5)
    assert travel_path(rig, moved[:1]).shape == (1, 3)
    below = torch.tensor([float(parent == 0) for parent in rig.parents])
    carried = replace(rest, translation=path[:, None] * below[:, None])
    share = 1 - 1 / len(rig.parents)
    np.testing.assert_allclose(travel_path(rig, carried), share * path.numpy(), atol=1e-5)


def test_side_by_side_is_not_hidden() -> None:
    box = Box(np.array([0.0, 0.4, 0.0]), np.array([0.3, 0.8, 1.2]))
    half = box.extent / 2
    corners = box.center + half * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    first, second = corners @ box.right, (corners + box.beside()) @ box.right
    assert first.max() < second.min()


def test_contact_plot_has_a_bar_for_every_stance(fox: Character, rig: Rig, walk: Motion) -> None:
    contacts = Contacts.of(rig, find_limbs(fox), walk)
    assert contacts is not None
    assert contacts.names == ("L1", "R1", "L2", "R2")
    assert contacts.plot().count("<rect") == sum(len(runs(row)) for row in contacts.standing)
    assert 0.4 < contacts.standing.mean() < 0.95


def test_page_draws_the_motion(fox: Character, rig: Rig, walk: Motion, tmp_path: Path) -> None:
    """Vertices on the page are the skinned mesh of the frame, also after a joint was turned by hand; the files that
    the page gives hold the same."""
    page = Page(Address(port=0))
    viewer = Viewer(Exhibit(fox, {"walk": walk}, before=walk, title="a fox"), page, playing=False)
    try:
        viewer.player.close()
        skin, rest = Skin.from_character(fox), torch.from_numpy(fox.mesh.vertices).float()

        def expected(angles: torch.Tensor, frame: int) -> np.ndarray:
            pose = forward_kinematics(rig, walk.root_position[frame], angles)
            return skin_points(blend(skin, rig, pose), rest).numpy() - travel_path(rig, walk)[frame]

        def drawn() -> np.ndarray:
            whole = np.full_like(fox.mesh.vertices, np.nan)
            for piece, handle in zip(viewer.shown.pieces.pieces, viewer.shown.meshes, strict=True):
                whole[piece.vertices] = handle.vertices
            return whole

        viewer.draw(7)
        np.testing.assert_allclose(drawn(), expected(walk.angles[7], 7), atol=1e-5)
        # The character is held: what its vertices lack of the travel, the ground lacks too, up to whole squares.
        moved = travel_path(rig, walk)[7] + np.asarray(viewer.page.ground.position)
        np.testing.assert_allclose(np.round(moved / viewer.page.section) * viewer.page.section, moved, atol=1e-6)
        assert np.abs(travel_path(rig, walk)[7]).max() > 0.1

        posing = viewer.posing
        assert posing is not None
        joint = 5
        posing.choose(joint)
        viewer.draw(7)
        assert viewer.shown.at is not None
        turned = viewer.shown.at[joint, :, :3] @ euler_to_matrix(torch.tensor([0.0, 0.4, 0.0]))
        posing.turn(turned)
        viewer.draw(7)
        torch.testing.assert_close(viewer.shown.at[joint, :, :3], turned, atol=1e-5, rtol=0)
        np.testing.assert_allclose(drawn(), expected(walk.angles[7] + posing.added, 7), atol=1e-5)
        assert posing.added[joint].abs().max() > 0.1
        viewer.draw(7)
        posed = posing.posed(walk)
        for suffix in (".glb", ".bvh", ".npz"):
            name, content = viewer.file_of_motion(suffix)
            (tmp_path / name).write_bytes(content)
            again = find_motion(fox, str(tmp_path / name))[1]
            assert name == f"fox_walk{suffix}"
            # An angle from the trace of float32 matrices is good to the root of their precision.
            assert float(rotation_angles(rig, again, posed).max()) < 1e-3
            torch.testing.assert_close(again.root_position, posed.root_position, atol=1e-5, rtol=0)
        posing.clear(everything=True)
        viewer.draw(7)
        np.testing.assert_allclose(drawn(), expected(walk.angles[7], 7), atol=1e-5)

        viewer.compare.value = True
        viewer.show_before()
        viewer.draw(3)
        assert viewer.second is not None
        viewer.mesh.value, viewer.splats.value = False, True
        viewer.show()
        assert viewer.shown.splats.visible
        assert np.isfinite(viewer.shown.splats.centers).all()
        # The renderer's half precision keeps the sizes: no covariance has vanished.
        assert (np.trace(np.asarray(viewer.shown.splats.covariances), axis1=1, axis2=2) > 0).all()
        assert math.isclose(viewer.shown.splats.scale, 0.01 * viewer.shown.size)
    finally:
        viewer.close()


def test_a_loop_goes_on_without_a_hitch(fox: Character, rig: Rig) -> None:
    """Its last frame, which is the first of the next round, is not shown twice, and the ground does not jump back."""
    walk, _ = make_motion(rig, find_limbs(fox), "walk", frames=60, fps=24.0)
    loop = cut_cycle(walk, 24.0, times=2)
    viewer = Viewer(Exhibit(fox, {"walk": loop}), Page(Address(port=0)), playing=False)
    try:
        viewer.player.close()
        shown, ground = [], []
        for _ in range(2 * len(loop)):
            shown.append(viewer.player.frame)
            viewer.draw(viewer.player.frame)
            ground.append(np.array(viewer.page.ground.position))
            viewer.player.advance(1 / loop.fps)
        period = len(loop) - 1
        assert shown == [k % period for k in range(2 * len(loop))]
        section, step = viewer.page.section, np.diff(viewer.path, axis=0)
        passed = -np.diff(ground, axis=0)
        passed = np.mod(passed + section / 2, section) - section / 2
        np.testing.assert_allclose(passed, step[[k % period for k in range(len(passed))]], atol=1e-5)
        assert float(np.linalg.norm(step, axis=1).min()) > 0.01
    finally:
        viewer.close()


def test_undo(fox: Character, rig: Rig, walk: Motion) -> None:
    """Each undo takes one change back; a drag, which is many events, is one change."""
    viewer = Viewer(Exhibit(fox, {"walk": walk}), Page(Address(port=0)), playing=False)
    try:
        viewer.player.close()
        posing = viewer.posing
        assert posing is not None
        posing.choose(5)
        viewer.draw(0)
        assert viewer.shown.at is not None
        states = [posing.added.clone()]
        for joint in (5, 7):
            posing.choose(joint)
            viewer.draw(0)
            own = viewer.shown.at[joint, :, :3].clone()
            for degrees in range(0, 30, 3):
                posing.turn(own @ euler_to_matrix(torch.tensor([0.0, math.radians(degrees), 0.0])))
                viewer.draw(0)
            states.append(posing.added.clone())
        posing.clear(everything=True)
        assert not posing.added.any()
        for expected in reversed(states):
            assert not posing.back.disabled
            posing.undo()
            assert torch.equal(posing.added, expected)
        assert posing.back.disabled
        posing.undo()
        assert not posing.added.any()
    finally:
        viewer.close()


def test_a_still_comes_to_life(fox: Character, rig: Rig, walk: Motion) -> None:
    """What a live run does: it begins at rest, and its length is known with the first motion."""
    viewer = Viewer(Exhibit(fox, {"walk": Motion.rest(rig, frames=1, fps=24.0)}), Page(Address(port=0)))
    try:
        player = viewer.player
        assert player.button.disabled
        assert not viewer.feet_folder.visible
        viewer.update(walk)
        assert (player.frames, player.timeline.max, player.button.label) == (24, 23, "Pause")
        assert not player.button.disabled
        assert viewer.feet_folder.visible
        assert viewer.facts.content.startswith("24 frames")
        player.position = 20.0
        viewer.update(walk[:8])
        assert player.frame < 8
    finally:
        viewer.close()


def test_mesh_without_a_rig_is_shown(fox: Character) -> None:
    page = Page(Address(port=0))
    viewer = Viewer(Exhibit(Character("statue", fox.mesh), title="statue"), page)
    try:
        assert viewer.posing is None
        assert viewer.skeleton.disabled
        assert viewer.facts.content == f"{len(fox.mesh.faces)} faces, no skeleton"
        viewer.draw(0)
        positions = viewer.shown.pieces.positions(fox.mesh.vertices)
        for handle, expected in zip(viewer.shown.meshes, positions, strict=True):
            np.testing.assert_allclose(handle.vertices, expected, atol=1e-6)
        viewer.splats.value = True
        viewer.show()
        # The splats lie where the mesh does.
        centers = np.asarray(viewer.shown.splats.centers) * viewer.shown.splats.scale
        margin = 0.05 * viewer.shown.size
        assert (centers > fox.mesh.vertices.min(0) - margin).all()
        assert (centers < fox.mesh.vertices.max(0) + margin).all()
        assert np.ptp(centers, axis=0).max() > 0.9 * viewer.shown.size
    finally:
        viewer.close()


def test_recording_of_a_motion(fox: Character, walk: Motion, tmp_path: Path) -> None:
    """One page with everything in it: the client, and a recording as long as the motion."""
    shown = play(walk[:6], fox, height=300)
    assert "<iframe" in shown._repr_html_()
    assert 'height="300"' in shown._repr_html_()
    page = shown.save(tmp_path / "walk.html").read_text()
    data = base64.b64decode(page.split('__VISER_EMBED_DATA__="')[1].split('"')[0])
    recording = zstandard.ZstdDecompressor().decompressobj().decompress(data[8:])
    header = msgspec.msgpack.decode(recording[8 : 8 + int.from_bytes(recording[:8], "little")])
    assert header["durationSeconds"] == pytest.approx(6 / 24)
    times = sorted({at for at, _ in header["messages"]})
    np.testing.assert_allclose(times, np.arange(6) / 24)
    with pytest.raises(KinemaError, match="joints"):
        play(Motion(walk.root_position, walk.angles[:, :3], 24.0), fox)
    with pytest.raises(KinemaError, match="no rig"):
        play(walk, Character("statue", fox.mesh))


def test_what_words_mean(fox: Character, rig: Rig, walk: Motion, tmp_path: Path) -> None:
    """A run's folder, a motion in it, a file with clips, a creature, a creature with a motion."""
    (tmp_path / "config.json").write_text('{"config": {"asset": "fox", "prompt": "a fox is walking"}}')
    with pytest.raises(KinemaError, match="--resume"):
        find_exhibit(str(tmp_path))
    save_motion(tmp_path / "motion.npz", walk, rig)
    assert find_exhibit(str(tmp_path)).before is None
    save_motion(tmp_path / "distilled.npz", walk[:10], rig)
    run = find_exhibit(str(tmp_path))
    assert run.before is not None
    assert len(run.before) == 10
    assert "a fox is walking" in run.title
    assert list(find_exhibit(str(tmp_path / "distilled.npz")).motions) == ["distilled"]
    assert list(find_exhibit("fox", str(tmp_path / "motion.npz")).motions) == ["motion"]
    assert len(find_exhibit("fox").motions) == 0
    write(tmp_path / "walk.glb", fox, walk, name="walk")
    file = find_exhibit(str(tmp_path / "walk.glb"))
    assert list(file.motions) == ["walk"]
    torch.testing.assert_close(file.motion("walk").root_position, walk.root_position, atol=1e-4, rtol=0)
    (tmp_path / "config.json").unlink()
    for words, why in (("", "no character"), (str(tmp_path / "motion.npz"), "--motion"), ("no/such.glb", "no such")):
        with pytest.raises(KinemaError, match=why):
            find_exhibit(words)
