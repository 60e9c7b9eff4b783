"""A mesh divided where its texture changes: closed as before, in the texture's colours, and not too large."""

import numpy as np
import pytest
import trimesh

from kinema.asset.character import Mesh
from kinema.geometry.nearest import SurfaceTree
from kinema.geometry.surface import SurfacePoints, sample_surface
from kinema.splat.colors import surface_colors
from kinema.view import palette
from kinema.view.palette import divide


def ball(texture: np.ndarray) -> Mesh:
    """A globe whose map is the texture, cut open along a meridian: there every vertex stands twice."""
    rings, turns = 12, 24
    u, v = np.meshgrid(np.linspace(0, 1, turns + 1), np.linspace(0, 1, rings + 1))
    around, down = 2 * np.pi * u, np.pi * v
    vertices = np.stack((np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around)), -1)
    vertices[:, -1], vertices[0], vertices[-1] = vertices[:, 0], (0, 1, 0), (0, -1, 0)
    index = np.arange((rings + 1) * (turns + 1)).reshape(rings + 1, turns + 1)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    faces = np.concatenate((np.stack((a, b, c), -1)[1:].reshape(-1, 3), np.stack((a, c, d), -1)[:-1].reshape(-1, 3)))
    uv, count = np.stack((u, v), -1).reshape(-1, 2), len(faces)
    white = np.ones((len(uv), 3))
    return Mesh(vertices.reshape(-1, 3), faces, white, uv, (texture,), np.zeros(count, dtype=np.int64))


def patches(size: int) -> np.ndarray:
    """Squares of random colours, `size` of them along each side."""
    colors = np.random.default_rng(0).integers(0, 256, (size, size, 4), dtype=np.uint8)
    colors[..., 3] = 255
    return colors.repeat(8, 0).repeat(8, 1)


def test_divided_surface_is_closed() -> None:
    """No gap and no edge that ends in the middle of another, also along the seam: each edge has two faces."""
    mesh = ball(patches(6))
    assert trimesh.Trimesh(mesh.vertices, mesh.faces).is_watertight
    made = divide(mesh)
    assert len(made.faces) > 4 * len(mesh.faces)
    closed = trimesh.Trimesh(made.positions(mesh.vertices), made.faces)
    assert closed.is_watertight
    assert closed.volume == pytest.approx(trimesh.Trimesh(mesh.vertices, mesh.faces).volume, rel=1e-9)


def test_colors_are_those_of_the_texture() -> None:
    """Seen at random points the difference is small; it was large before the division."""
    mesh = ball(patches(11))
    made = divide(mesh)
    placed = made.positions(mesh.vertices)

    def error(vertices: np.ndarray, faces: np.ndarray, colors: np.ndarray) -> float:
        points = sample_surface(vertices, faces, 4000, rng=np.random.default_rng(1))
        there = points.interpolate(faces, vertices)
        # The same point on the undivided mesh gives the true colour.
        true = surface_colors(mesh, SurfaceTree.from_triangles(mesh.vertices, mesh.faces).nearest(there))[:, :3]
        return float(np.abs(colors[points.face] - true).mean())

    middles = SurfacePoints(np.arange(len(mesh.faces)), np.full((len(mesh.faces), 3), 1 / 3))
    before = error(mesh.vertices, mesh.faces, surface_colors(mesh, middles)[:, :3])
    after = error(placed, made.faces, made.colors)
    assert before > 0.05
    assert after < 0.2 * before, (before, after)


def test_noise_does_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (512, 512, 4), dtype=np.uint8)
    assert len(divide(ball(noise)).faces) < 1.1 * palette.MOST_FACES
    monkeypatch.setattr(palette, "MOST_FACES", 100)
    assert len(divide(ball(noise)).faces) == len(ball(noise).faces)


def test_plain_mesh_is_left_alone() -> None:
    plain = np.full((8, 8, 4), 200, np.uint8)
    mesh = ball(plain)
    assert np.array_equal(divide(mesh).faces, mesh.faces)
    np.testing.assert_allclose(divide(mesh).colors, 200 / 255)
