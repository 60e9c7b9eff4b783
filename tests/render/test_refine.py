import dataclasses

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from kinema.asset.character import Mesh
from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render.raycast import raycast
from kinema.render.refine import Refinement, orbit_views, psnr, refine, render_splats
from kinema.splat.splats import Splats


def ball(subdivisions: int = 3) -> Mesh:
    import trimesh

    sphere = trimesh.creation.icosphere(subdivisions)
    vertices = np.asarray(sphere.vertices)
    return Mesh(vertices, np.asarray(sphere.faces), (vertices + 1) / 2)


def front(size: int = 64, *, distance: float = 4.0) -> Cameras:
    eye, target = torch.tensor([[0.0, 0.0, distance]]), torch.zeros(1, 3)
    return Cameras.look_at(eye, target, fovy_deg=40.0, width=size, height=size)


def test_ball_covers_the_disc_it_must():
    # A unit ball seen from 4 m is a disc of tan(asin(1/4)) in units where the image's half height is tan 20°.
    radius = np.tan(np.arcsin(1 / 4)) / np.tan(np.radians(20)) * 32
    image = raycast(ball(5), front(), samples=4)
    assert float(image[0, 3].sum()) == pytest.approx(np.pi * radius**2, rel=2e-3)


def test_colors_lie_where_the_surface_is():
    """The middle pixels see (0, 0, 1), a quarter up the image the point where that ray meets the ball."""
    image = raycast(ball(5), front(), samples=1)[0]
    assert_close(image[:3, 31:33, 31:33].mean((1, 2)), torch.tensor([0.5, 0.5, 1.0]), atol=5e-3, rtol=0)
    d = np.array([0, (32 - 15.5) / 32 * np.tan(np.radians(20)), -1])
    b, c = d @ [0, 0, 4], 15.0
    t = (-b - np.sqrt(b * b - d @ d * c)) / (d @ d)
    hit = np.array([0, 0, 4]) + t * d
    assert_close(image[:3, 15, 31:33].mean(1), torch.from_numpy((hit + 1) / 2).float(), atol=8e-3, rtol=0)


def test_rays_pass_through_holes_in_the_texture():
    quad = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    vertices = np.concatenate((quad + [0, 0, 0.5], quad))
    faces = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]])
    texture = np.full((1, 2, 4), 255, dtype=np.uint8)
    texture[0, 0] = (255, 0, 0, 0)
    uv = np.tile(np.array([[0.25, 0.5]]), (8, 1))
    colors = np.concatenate((np.ones((4, 3)), np.full((4, 3), 0.25)))
    mesh = Mesh(vertices, faces, colors, uv, (texture,), np.array([0, 0, -1, -1]))
    image = raycast(mesh, front(16), samples=2)
    assert_close(image[0, :, 8, 8], torch.tensor([0.25, 0.25, 0.25, 1.0]))


def test_posed_vertices_are_what_is_seen():
    mesh, cameras = ball(2), front(32)
    two = Cameras(cameras.T_camera_world.repeat(2, 1, 1), cameras.focal_center_px.repeat(2, 1), 32, 32)
    moved = np.stack((mesh.vertices, mesh.vertices + [0.5, 0, 0]))
    images = raycast(mesh, two, vertices=moved, samples=2)
    assert_close(images[0], raycast(mesh, cameras, samples=2)[0])
    columns = (images[:, 3].sum(1) * torch.arange(32)).sum(1) / images[:, 3].sum((1, 2))
    assert columns[1] - columns[0] > 3
    with pytest.raises(KinemaError, match="2 poses do not fit 1 cameras"):
        raycast(mesh, cameras, vertices=moved)


def test_direct_splats_look_like_the_mesh():
    mesh = ball()
    cameras = orbit_views(mesh, 4, size_px=96, rng=np.random.default_rng(5))
    seen = raycast(mesh, cameras, samples=3)
    splats, _ = Splats.from_mesh(mesh, 3000, rng=np.random.default_rng(0))
    assert psnr(render_splats(splats, cameras).over(torch.ones(())), seen[:, :3] + 1 - seen[:, 3:]) > 24


def test_refining_gains_and_keeps_the_count():
    mesh = ball()
    splats, _ = Splats.from_mesh(mesh, 600, rng=np.random.default_rng(0))
    # Some that are of no use, for the density control to move.
    splats.opacity_logit[:30] = -6.0
    settings = Refinement(views=12, size_px=48, samples=2, steps=60, batch=2, density_every=20)
    told = []
    refined = refine(splats, mesh, settings=settings, rng=np.random.default_rng(1), progress=lambda *x: told.append(x))
    assert [step for step, _, _ in told] == [20, 40, 60]
    assert len(refined) == len(splats)
    assert (refined.opacities < 0.05).sum() < 30
    cameras = orbit_views(mesh, 4, size_px=48, rng=np.random.default_rng(5))
    seen = raycast(mesh, cameras, samples=3)
    truth = seen[:, :3] + 1 - seen[:, 3:]

    def score(cloud):
        return psnr(render_splats(cloud, cameras).over(torch.ones(())), truth)

    assert score(refined) > score(splats) + 0.4


def test_refining_stops_when_nothing_is_gained():
    mesh = ball(2)
    splats, _ = Splats.from_mesh(mesh, 200, rng=np.random.default_rng(0))
    settings = Refinement(views=6, size_px=24, samples=1, steps=400, batch=2, density_every=5, patience=2)
    told = []
    refine(splats, mesh, settings=settings, rng=np.random.default_rng(1), progress=lambda *x: told.append(x))
    assert told[-1][0] < 400
    # The best state is returned, so refining never makes it worse on the views held back.
    none = refine(splats, mesh, settings=dataclasses.replace(settings, steps=0), rng=np.random.default_rng(1))
    assert torch.equal(none.centers, splats.centers)
