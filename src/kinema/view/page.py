"""The page around a character: light, ground, camera and the panel's frame."""

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.render.follow import framing_distance, smooth_path
from kinema.render.ground import round_length
from kinema.view.server import Address, open_server

YAW_DEG, ELEVATION_DEG, FOVY_DEG = 40.0, 12.0, 30.0
BRAND = (48, 99, 142)


@dataclass(frozen=True)
class Framing:
    """What the camera has to see."""

    center: Float[np.ndarray, "3"]
    extent: Float[np.ndarray, "3"]

    @staticmethod
    def around(points: Float[np.ndarray, "points 3"]) -> "Framing":
        low, high = points.min(0), points.max(0)
        return Framing((low + high) / 2, np.maximum(high - low, 1e-6))

    @property
    def size(self) -> float:
        return float(self.extent.max())

    @property
    def right(self) -> Float[np.ndarray, "3"]:
        """To the right in the picture, over the ground."""
        yaw = np.deg2rad(YAW_DEG)
        return np.array([np.cos(yaw), 0.0, -np.sin(yaw)])

    def beside(self) -> Float[np.ndarray, "3"]:
        """Where a second one stands without hiding the first."""
        return 1.15 * float(np.abs(self.right) @ self.extent) * self.right

    def with_second(self) -> "Framing":
        """Both."""
        corners = self.center + np.stack((-self.extent, self.extent)) / 2
        return Framing.around(np.concatenate((corners, corners + self.beside())))


class Page:
    """One browser page. `close` ends it."""

    def __init__(self, address: Address) -> None:
        # viser greets on standard output, which is for results.
        with contextlib.redirect_stdout(io.StringIO()):
            self.server, self.url = open_server(address)
        # A click in the page must not publish it to the world.
        self.server.request_share_url = lambda verbose=True: None
        scene, gui = self.server.scene, self.server.gui
        scene.set_up_direction("+y")
        # A sky of two colours: the usual map of a real one takes ten seconds to start where there is no GPU.
        scene.configure_environment_map(None)
        scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(176, 166, 156), intensity=1.3)
        gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False, brand_color=BRAND)
        gui.main_panel.dock_right()
        self.ground: Any = None
        self.section = 1.0

    def set_stage(self, framing: Framing) -> None:
        """A ground in proportion to the character, and a camera that sees all of it."""
        self.section = round_length(framing.size / 2)
        self.ground = self.server.scene.add_grid(
            "/ground",
            plane="xz",
            cell_size=self.section / 4,
            section_size=self.section,
            cell_color=(222, 226, 230),
            section_color=(186, 194, 202),
            infinite_grid=True,
            fade_distance=14 * framing.size,
            shadow_opacity=0.28,
            plane_color=(247, 248, 249),
            plane_opacity=1.0,
        )
        self.aim(framing)

    def aim(self, framing: Framing) -> None:
        """Look at all of it, now and after "Reset View"."""
        distance = framing_distance(
            framing.extent,
            fovy_deg=FOVY_DEG,
            width=1200,
            height=900,
            yaw_deg=YAW_DEG,
            elevation_deg=ELEVATION_DEG,
            margin=1.25,
        )
        yaw, elevation = np.deg2rad(YAW_DEG), np.deg2rad(ELEVATION_DEG)
        away = np.array([np.sin(yaw) * np.cos(elevation), np.sin(elevation), np.cos(yaw) * np.cos(elevation)])
        place = framing.center + distance * away
        cameras = [self.server.initial_camera, *(client.camera for client in self.server.get_clients().values())]
        for camera in cameras:
            camera.position, camera.look_at = place, framing.center
            camera.fov = float(np.deg2rad(FOVY_DEG))
            camera.near, camera.far = distance / 100, distance * 100

    def travel(self, path: Float[np.ndarray, "3"]) -> None:
        """Let the ground pass under a character that is held in the picture."""
        if self.ground is not None:
            self.ground.position = -np.mod(path, self.section) * [1, 0, 1]

    def close(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()


def travel_path(root: Float[Tensor, "frames 3"], fps: float) -> Float[np.ndarray, "frames 3"]:
    """Where over the ground the character is, without the sway of its steps; the first frame is at the origin."""
    path = root.detach().double() * torch.tensor([1.0, 0.0, 1.0])
    path = smooth_path(path, sigma=0.25 * fps)
    return (path - path[0]).numpy()


def sampled(count: int, most: int = 12) -> Tensor:
    """Frames that stand for all."""
    return torch.linspace(0, count - 1, min(count, most)).round().long()
