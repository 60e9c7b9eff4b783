import pytest
import torch

from kinema.geometry.camera import Cameras
from kinema.geometry.transforms import apply

SIZE = {"width": 64, "height": 48}


def project(cameras: Cameras, points_world: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels and depth of the same points in every camera."""
    local = apply(cameras.T_camera_world, points_world.expand(len(cameras), -1, 3))
    fx, fy, cx, cy = cameras.focal_center_px.T[..., None]
    z = local[..., 2]
    return torch.stack((fx * local[..., 0] / z + cx, fy * local[..., 1] / z + cy), -1), z


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_target_is_in_the_middle_at_its_distance(dtype: torch.dtype) -> None:
    eye = torch.randn(20, 3, dtype=dtype, generator=torch.Generator().manual_seed(0)) * 5
    target = torch.randn(20, 3, dtype=dtype, generator=torch.Generator().manual_seed(1))
    cameras = Cameras.look_at(eye, target, fovy_deg=40.0, **SIZE)
    rotation = cameras.T_camera_world[:, :, :3]
    torch.testing.assert_close(rotation @ rotation.mT, torch.eye(3, dtype=dtype).expand(20, 3, 3), atol=1e-5, rtol=0)
    torch.testing.assert_close(torch.linalg.det(rotation), torch.ones(20, dtype=dtype))
    torch.testing.assert_close(cameras.position_world, eye, atol=1e-4, rtol=0)
    pixels, depth = project(cameras, target[:, None])
    torch.testing.assert_close(pixels[:, 0], torch.tensor([32.0, 24.0], dtype=dtype).expand(20, 2), atol=1e-3, rtol=0)
    torch.testing.assert_close(depth[:, 0], (target - eye).norm(dim=-1), atol=1e-4, rtol=1e-5)


def test_up_in_the_world_is_up_in_the_image_and_left_of_the_character_is_right() -> None:
    cameras = Cameras.orbit(torch.zeros(1, 3), yaw_deg=0.0, elevation_deg=0.0, distance=4.0, fovy_deg=40.0, **SIZE)
    pixels, _ = project(cameras, torch.tensor([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0]]))
    assert pixels[0, 0, 1] < 24  # y runs down
    assert pixels[0, 1, 0] > 32  # +X is the character's left; seen from the front that is the right side of the image


def test_the_field_of_view_spans_the_height() -> None:
    # tan(fovy / 2) = (h / 2) / f: a point at that slope falls on the image's border.
    cameras = Cameras.look_at(torch.zeros(1, 3), torch.tensor([[0.0, 0, 1]]), fovy_deg=60.0, **SIZE)
    slope = torch.tan(torch.deg2rad(torch.tensor(30.0)))
    pixels, _ = project(cameras, torch.tensor([[0.0, float(slope), 1.0], [0.0, -float(slope), 1.0]]))
    torch.testing.assert_close(pixels[0, :, 1], torch.tensor([0.0, 48.0]), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("yaw", "where"), [(0.0, (0, 0, 3)), (90.0, (3, 0, 0)), (180.0, (0, 0, -3)), (-90.0, (-3, 0, 0))]
)
def test_orbit_places_the_eye(yaw: float, where: tuple[float, float, float]) -> None:
    cameras = Cameras.orbit(torch.ones(1, 3), yaw_deg=yaw, elevation_deg=0.0, distance=3.0, fovy_deg=40.0, **SIZE)
    torch.testing.assert_close(cameras.position_world[0], torch.tensor(where) + 1.0, atol=1e-5, rtol=0)


@pytest.mark.parametrize("elevation", [90.0, -90.0])
def test_looking_straight_down_or_up_is_still_a_rotation(elevation: float) -> None:
    cameras = Cameras.orbit(
        torch.zeros(1, 3), yaw_deg=0.0, elevation_deg=elevation, distance=2.0, fovy_deg=40.0, **SIZE
    )
    rotation = cameras.T_camera_world[0, :, :3]
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(cameras.position_world[0].abs(), torch.tensor([0.0, 2.0, 0.0]), atol=1e-5, rtol=0)


def test_slices_are_cameras_of_those_frames() -> None:
    yaw = torch.linspace(0, 90, 6)
    cameras = Cameras.orbit(torch.zeros(6, 3), yaw_deg=yaw, elevation_deg=10.0, distance=2.0, fovy_deg=40.0, **SIZE)
    assert len(cameras[2:5]) == 3
    torch.testing.assert_close(cameras[2:5].position_world, cameras.position_world[2:5])
