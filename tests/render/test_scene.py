import numpy as np
import pytest
import torch
from torch.testing import assert_close

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render.follow import Viewpoint, film_cameras, follow, smooth_path
from kinema.render.ground import Ground, cast_ground, checker
from kinema.render.image import Image
from kinema.render.rasterize import rasterize
from kinema.render.scene import Scene, backdrop, composite, render_video
from kinema.render.shadow import Shadow, bounding_boxes, cast_shadow, look_up, shadow_map_torch
from kinema.splat.pose import PosedSplats, native_scene


def camera(width: int, height: int, *, frames: int = 1, dtype=torch.float64) -> Cameras:
    eye = torch.tensor([[1.1, 0.9, 2.0]], dtype=dtype).expand(frames, 3)
    target = torch.tensor([[0.1, 0.4, 0.0]], dtype=dtype).expand(frames, 3)
    return Cameras.look_at(eye, target, fovy_deg=40.0, width=width, height=height)


def blob(frames: int = 2, count: int = 20, *, seed: int = 0, dtype=torch.float64) -> PosedSplats:
    g = torch.Generator().manual_seed(seed)
    centers = 0.3 * torch.randn(frames, count, 3, generator=g, dtype=dtype) + torch.tensor([0.0, 0.5, 0.0])
    half = 0.08 * torch.randn(frames, count, 3, 3, generator=g, dtype=dtype)
    return PosedSplats(centers.to(dtype), half @ half.mT)


def test_hits_project_back_to_their_pixels():
    cameras = camera(12, 9)
    hits = cast_ground(cameras, height=-0.2)
    world = torch.stack((hits.x, torch.full_like(hits.x, -0.2), hits.z), -1).reshape(-1, 3)
    T, (fx, fy, cx, cy) = cameras.T_camera_world[0], cameras.focal_center_px[0]
    seen = world @ T[:, :3].mT + T[:, 3]
    u, v = fx * seen[:, 0] / seen[:, 2] + cx, fy * seen[:, 1] / seen[:, 2] + cy
    below = (hits.coverage == 1).flatten()
    rows, columns = torch.meshgrid(torch.arange(9) + 0.5, torch.arange(12) + 0.5, indexing="ij")
    assert below.any()
    assert_close(u[below], columns.flatten().double()[below])
    assert_close(v[below], rows.flatten().double()[below])


def test_checker_is_the_mean_of_the_pattern_over_the_box():
    g = np.random.default_rng(0)
    x, z, wx, wz = g.uniform(-3, 3, 50), g.uniform(-3, 3, 50), g.uniform(0.01, 3, 50), g.uniform(0.01, 3, 50)
    t = (np.arange(400) + 0.5) / 400 - 0.5
    px, pz = x[:, None, None] + wx[:, None, None] * t[:, None], z[:, None, None] + wz[:, None, None] * t
    pattern = (np.floor(px) + np.floor(pz)) % 2 == 0
    ours = checker(*(torch.from_numpy(value) for value in (x, z, wx, wz)))
    assert_close(ours.numpy(), pattern.mean((1, 2)), atol=4e-3, rtol=0)


def test_ground_matches_many_rays_per_pixel():
    scene = Scene(ground=Ground(light=(1.0, 1.0, 1.0), dark=(0.0, 0.0, 0.0), tile=0.3), sky=(0.2, 0.5, 1.0))
    small, large = backdrop(camera(32, 24), scene)[0], backdrop(camera(32 * 16, 24 * 16), scene)[0]
    exact = torch.nn.functional.avg_pool2d(large, 16)
    # The footprint of a pixel is a parallelogram, the filter its bounding box: equal in the mean, softer in detail.
    assert (small - exact).square().mean().sqrt() < 0.12
    assert_close(small.mean((1, 2)), exact.mean((1, 2)), atol=0.01, rtol=0)
    # Near the horizon both are the mean of the two colours.
    top = cast_ground(camera(32, 24)).coverage[0].mean(1)
    row = int((top == 1).nonzero()[0])
    assert_close(small[:, row].mean(), torch.tensor(0.5, dtype=torch.float64), atol=0.1, rtol=0)


def test_camera_below_the_ground_sees_it_above():
    cameras = Cameras.look_at(
        torch.tensor([[0.0, -1.0, 2.0]]), torch.tensor([[0.0, -1.0, 0.0]]), fovy_deg=40.0, width=8, height=8
    )
    coverage = cast_ground(cameras).coverage[0]
    assert (coverage[:3] == 1).all()
    assert (coverage[5:] == 0).all()


def test_shadow_is_darkest_under_what_touches_the_ground():
    spread = torch.linspace(-0.05, 0.05, 7)
    patch = torch.stack((*torch.meshgrid(spread, spread, indexing="xy"), torch.zeros(7, 7)), -1).reshape(-1, 3)
    patch = patch[:, [0, 2, 1]]
    heights, places = (0.001, 0.5, 1.0), (-1.0, 0.0, 1.0)
    centers = torch.cat([patch + torch.tensor([x, y, 0.0]) for x, y in zip(places, heights, strict=True)])[None]
    covariances = torch.diag(torch.tensor([0.02**2, 1e-8, 0.02**2])).expand(1, len(centers[0]), 3, 3)
    shadow = Shadow(strength=0.5, falloff=2.0)
    _, shadows = cast_shadow(PosedSplats(centers, covariances), torch.ones(len(centers[0])), shadow)
    s = look_up(shadows, torch.tensor([[[*places, 0.5]]]), torch.zeros(1, 1, 4))[0, 0]
    # s = 1 - s_max exp(-β d), here times a coverage just under 1; nothing lies above the last point.
    expected = 1 - 0.5 * torch.exp(-2.0 * torch.tensor(heights))
    assert_close(s[:3], expected, atol=0.03, rtol=0)
    assert_close(s[3], torch.tensor(1.0))


def test_shadow_has_the_right_gradient():
    posed = blob()
    opacities = torch.rand(20, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    outer = torch.tensor([[-2.0, 0.5, -2.0], [2.0, 0.5, 2.0]], dtype=torch.float64).expand(2, 2, 3)
    x = torch.linspace(-0.5, 0.5, 5, dtype=torch.float64).expand(2, 1, 5)

    def run(inner):
        # Without the outermost Gaussians, which say where the grid lies: that they move it is not differentiated.
        centers = torch.cat((outer, inner), 1)
        covariances = torch.cat((posed.covariances, posed.covariances[:, :2]), 1)
        cloud = PosedSplats(centers, covariances)
        return look_up(cast_shadow(cloud, torch.cat((opacities, opacities[:2])), Shadow())[1], x, 0.3 * x)

    assert torch.autograd.gradcheck(run, (posed.centers.clone().requires_grad_(),), fast_mode=True)


def test_compositing_has_the_right_gradient():
    posed = blob(count=6)
    g = torch.Generator().manual_seed(1)
    opacities = torch.rand(6, generator=g, dtype=torch.float64) * 0.8 + 0.1
    colors = torch.rand(6, 3, generator=g, dtype=torch.float64)
    cameras = camera(8, 6, frames=2)

    def run(centers, covariances, opacities, colors):
        covariances = (covariances + covariances.mT) / 2
        return render_video(PosedSplats(centers, covariances), opacities, colors, cameras, backend="torch")

    inputs = [x.clone().requires_grad_() for x in (posed.centers, posed.covariances, opacities, colors)]
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True, atol=1e-4)


def test_what_is_below_the_ground_is_not_seen():
    cameras = camera(16, 12)
    sunk = PosedSplats(torch.tensor([[[0.0, -0.01, 0.0]]]).double(), 0.01 * torch.eye(3).double()[None, None])
    ones = torch.ones(1, dtype=torch.float64)
    video = render_video(sunk, ones, torch.zeros(1, 3).double(), cameras, backend="torch")
    assert_close(video, backdrop(cameras, Scene()))
    no_ground = Scene(ground=None, sky=(0.0, 0.0, 0.0))
    video = render_video(sunk, ones, torch.ones(1, 3).double(), cameras, scene=no_ground, backend="torch")
    assert video.max() > 0.9


def test_every_frame_needs_a_camera():
    posed = blob(frames=3)
    opacities, colors = torch.full((20,), 0.7).double(), torch.full((20, 3), 0.5).double()
    with pytest.raises(KinemaError, match="4 cameras do not fit 3 frames"):
        render_video(posed, opacities, colors, camera(4, 4, frames=4))


def test_smoothing_keeps_a_constant_velocity_and_kills_jitter():
    time = torch.arange(60, dtype=torch.float64)[:, None]
    straight = time * torch.tensor([[0.1, 0.0, 0.3]]).double() + 1
    assert_close(smooth_path(straight, sigma=4.0), straight)
    jitter = torch.where(torch.arange(60) % 2 == 0, 0.1, -0.1)[:, None].double().expand(60, 3)
    assert (smooth_path(straight + jitter, sigma=4.0) - straight)[20:40].abs().max() < 0.001
    assert_close(smooth_path(straight[:1], sigma=4.0), straight[:1])


def test_cameras_look_at_the_path_from_their_side():
    path = torch.tensor([[0.0, 0.5, 0.0], [1.0, 0.5, 2.0]])
    viewpoint = Viewpoint(yaw_deg=90.0, elevation_deg=0.0, zoom=0.5)
    cameras = follow(path, viewpoint, distance=1.5, width=20, height=10)
    # Yaw 90 sees the left side, +X; zoom 0.5 doubles the distance.
    assert_close(cameras.position_world, path + torch.tensor([3.0, 0.0, 0.0]))


def box_corners(extent) -> torch.Tensor:
    return torch.cartesian_prod(*(torch.tensor([-e / 2, e / 2], dtype=torch.float32) for e in extent))


@pytest.mark.parametrize("camera", ["follow", "still", "turntable"])
def test_film_cameras_have_the_whole_character_in_every_frame(camera):
    frames = 36
    travel = torch.zeros(frames, 1, 3) if camera == "turntable" else torch.linspace(0, 3, frames)[:, None, None]
    centers = box_corners((0.4, 1.0, 2.0)) + travel * torch.tensor([0.3, 0.0, 1.0])
    cameras = film_cameras(centers, Viewpoint(20.0, 8.0), camera=camera, width=64, height=48)
    T = cameras.T_camera_world
    seen = centers @ T[:, :, :3].mT + T[:, None, :, 3]
    pixel = seen[..., :2] / seen[..., 2:] * cameras.focal_center_px[:, None, :2] + torch.tensor([32.0, 24.0])
    assert (pixel > 0).all()
    assert (pixel < torch.tensor([64.0, 48.0])).all()
    # And it is no smaller than it has to be: some corner comes near to an edge.
    reach = ((pixel - torch.tensor([32.0, 24.0])).abs() / torch.tensor([32.0, 24.0])).max()
    assert reach > 0.7
    moved = cameras.position_world.diff(dim=0).norm(dim=-1)
    assert (moved < 1e-5).all() if camera == "still" else (moved > 1e-3).all()


@pytest.mark.parametrize("size", [(64, 48), (37, 23)])
@pytest.mark.parametrize("with_shadow", [True, False])
@pytest.mark.skipif(native_scene() is None, reason="native/scene was not built")
def test_native_compositing_is_its_twin(size, with_shadow):
    width, height = size
    posed = blob(frames=3, dtype=torch.float32)
    path = torch.tensor([[0.0, 0.4, 0.0], [0.1, 0.4, 0.1], [0.2, 0.4, 0.2]])
    cameras = follow(path, Viewpoint(elevation_deg=6.0), distance=2.0, width=width, height=height)
    g = torch.Generator().manual_seed(0)
    features, alpha = torch.rand(3, 3, height, width, generator=g), torch.rand(3, height, width, generator=g)
    weight = torch.randn(3, 3, height, width, generator=g)
    scene = Scene(ground=Ground(light=(0.9, 0.6, 0.5), dark=(0.1, 0.2, 0.3)), shadow=Shadow(strength=0.8))
    results = []
    for native in (True, False):
        inputs = [x.clone().requires_grad_() for x in (features, alpha, posed.centers)]
        shadows = None
        if with_shadow:
            casting = PosedSplats(inputs[2], posed.covariances), torch.ones(20), scene.shadow
            shadows = cast_shadow(*casting)[1] if native else shadow_map_torch(*casting)
        image = Image(inputs[0], inputs[1])
        if native:
            video = composite(image, cameras, scene=scene, shadows=shadows)
        else:
            video = image.over(backdrop(cameras, scene, shadows))
        grads = torch.autograd.grad((video * weight).sum(), inputs[: 3 if with_shadow else 2])
        results.append((video.detach(), *grads))
    for native, twin in zip(*results, strict=True):
        assert (native - twin).abs().max() < 2e-4 * twin.abs().max()


@pytest.mark.skipif(native_scene() is None, reason="native/scene was not built")
def test_gradients_of_image_and_shadow_add_up():
    posed = blob(frames=3, dtype=torch.float32)
    path = torch.tensor([[0.0, 0.4, 0.0], [0.1, 0.4, 0.1], [0.2, 0.4, 0.2]])
    cameras = follow(path, Viewpoint(elevation_deg=20.0), distance=2.0, width=40, height=32)
    g = torch.Generator().manual_seed(0)
    colors, weight = torch.rand(20, 3, generator=g), torch.randn(3, 3, 32, 40, generator=g)
    scene = Scene(ground=Ground(height=-1.0), shadow=Shadow(strength=0.8, most=7))
    centers = posed.centers.clone().requires_grad_()
    cloud = PosedSplats(centers, posed.covariances)
    video = render_video(cloud, torch.full((20,), 0.8), colors, cameras, scene=scene)
    found = [torch.autograd.grad((video * weight).sum(), centers, retain_graph=True)[0] for _ in range(2)]
    # The same by parts: every third of the 20 casts the shadow, and autograd adds.
    image = rasterize(centers, posed.covariances, torch.full((20,), 0.8), colors, cameras)
    _, shadows = cast_shadow(cloud, torch.full((20,), 0.8), scene.shadow, height=-1.0)
    parts = composite(image, cameras, scene=scene, shadows=shadows)
    torch.testing.assert_close(video, parts, atol=0, rtol=0)
    expected = torch.autograd.grad((parts * weight).sum(), centers, retain_graph=True)[0]
    for grad in found:
        torch.testing.assert_close(grad, expected)
    alone = torch.autograd.grad((shadows.factor**2).sum(), centers)[0]
    assert alone[:, ::3].abs().max() > 1e-4


@pytest.mark.parametrize("count", [1, 15, 16, 17, 50])
def test_bounding_boxes_of_any_number_of_points(count):
    centers = torch.randn(3, count, 3, generator=torch.Generator().manual_seed(count))
    expected = torch.stack((centers.amin(1), centers.amax(1)), 1)
    assert torch.equal(bounding_boxes(centers), expected)
    assert torch.equal(bounding_boxes(centers.double()), expected.double())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_points_give_the_bare_ground(dtype):
    nobody = PosedSplats(torch.zeros(2, 0, 3, dtype=dtype), torch.zeros(2, 0, 3, 3, dtype=dtype))
    scene, cameras = Scene(shadow=Shadow()), camera(20, 15, frames=2, dtype=dtype)
    video = render_video(nobody, torch.zeros(0, dtype=dtype), torch.zeros(0, 3, dtype=dtype), cameras, scene=scene)
    assert_close(video, backdrop(cameras, scene), atol=1e-5, rtol=0)


def test_painting_does_not_depend_on_threads():
    cameras = camera(40, 30, frames=5, dtype=torch.float32)
    g = torch.Generator().manual_seed(0)
    image = Image(torch.rand(5, 3, 30, 40, generator=g), torch.rand(5, 30, 40, generator=g))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = composite(image, cameras)
        torch.set_num_threads(2)
        assert torch.equal(one, composite(image, cameras))
    finally:
        torch.set_num_threads(before)
