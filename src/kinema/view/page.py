"""The browser page around a character: light, ground, camera and panel."""

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from kinema.motion.motion import Motion
from kinema.render.follow import framing_distance, smooth_path
from kinema.render.ground import round_length
from kinema.rig.kinematics import Rig
from kinema.view.pages import Pages
from kinema.view.server import Address, open_server

YAW_DEG, ELEVATION_DEG, FOVY_DEG = 40.0, 12.0, 30.0
BRAND = (48, 99, 142)


@dataclass(frozen=True)
class Box:
    """The box that the camera has to see."""

    center: Float[np.ndarray, "3"]
    extent: Float[np.ndarray, "3"]

    @staticmethod
    def around(points: Float[np.ndarray, "points 3"]) -> "Box":
        low, high = points.min(0), points.max(0)
        return Box((low + high) / 2, np.maximum(high - low, 1e-6))

    @property
    def right(self) -> Float[np.ndarray, "3"]:
        """Direction over the ground that points to the right in the picture."""
        yaw = np.deg2rad(YAW_DEG)
        return np.array([np.cos(yaw), 0.0, -np.sin(yaw)])

    def beside(self) -> Float[np.ndarray, "3"]:
        """Offset of a second character that does not hide the first."""
        return 1.15 * float(np.abs(self.right) @ self.extent) * self.right

    def with_second(self) -> "Box":
        """The box around both."""
        corners = self.center + np.stack((-self.extent, self.extent)) / 2
        return Box.around(np.concatenate((corners, corners + self.beside())))


class Page:
    """One browser page. `close` ends it."""

    def __init__(self, address: Address, *, title: str = "") -> None:
        self.title = title
        """What the browser's tab says after the program's name."""
        # viser greets on standard output, which is for results.
        with contextlib.redirect_stdout(io.StringIO()):
            self.server, self.url = open_server(address, title=lambda: self.title)
        self.pages = Pages(self.server)
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

    def fit(self, box: Box) -> None:
        """Lay a ground in proportion to the character, and aim the camera at it."""
        size = float(box.extent.max())
        self.section = round_length(size / 2)
        squares = {"cell_size": self.section / 4, "section_size": self.section, "fade_distance": 14 * size}
        colors = {"cell_color": (222, 226, 230), "section_color": (186, 194, 202), "plane_color": (247, 248, 249)}
        look = {"plane": "xz", "infinite_grid": True, "plane_opacity": 1.0, "shadow_opacity": 0.28, **colors}
        self.ground = self.server.scene.add_grid("/ground", **squares, **look)
        self.aim(box)

    def aim(self, box: Box) -> None:
        """Look at the whole box, now and after "Reset View"."""
        angles = {"yaw_deg": YAW_DEG, "elevation_deg": ELEVATION_DEG, "fovy_deg": FOVY_DEG}
        distance = framing_distance(box.extent, width=1200, height=900, margin=1.25, **angles)
        yaw, up = np.deg2rad(YAW_DEG), np.deg2rad(ELEVATION_DEG)
        away = np.array([np.sin(yaw) * np.cos(up), np.sin(up), np.cos(yaw) * np.cos(up)])
        for camera in (self.server.initial_camera, *(client.camera for client in self.server.get_clients().values())):
            camera.position, camera.look_at = box.center + distance * away, box.center
            camera.fov = float(np.deg2rad(FOVY_DEG))
            camera.near, camera.far = distance / 100, distance * 100

    def travel(self, origin: Float[np.ndarray, "3"]) -> None:
        """Let the ground pass under a character that is held in the picture: `origin` is the middle of the scene."""
        if self.ground is not None:
            self.ground.position = -np.mod(origin, self.section) * [1, 0, 1]

    def close(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()


def travel_path(rig: Rig, motion: Motion) -> Float[np.ndarray, "frames 3"]:
    """Position of the character over the ground in time, without the sway of its steps; at rest it is zero.

    It is the mean of the joints, because in some files not the root travels but a joint below it.
    """
    centers = motion.pose(rig)[..., 3].mean(1) - rig.heads.mean(0)
    return smooth_path(centers.detach().double() * torch.tensor([1.0, 0.0, 1.0]), sigma=0.25 * motion.fps).numpy()
