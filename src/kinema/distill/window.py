"""Windows of a motion: stretches of the prior's length, each seen from one side."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from torch import Tensor

from kinema.distill.parameters import Filmable, Filmed
from kinema.distill.tempo import Tempo, base_path
from kinema.geometry.camera import Cameras
from kinema.prior.protocol import Context, VideoPrior, picture_size
from kinema.render.follow import Viewpoint, smooth_path
from kinema.render.points import PointCameras, PointView
from kinema.render.shadow import bounding_boxes
from kinema.render.stage import Stage

SIGMA = 4.0
"""Deviation of the Gaussian that smooths the path of the box [frames]; AKD states none."""


@dataclass(frozen=True)
class Window:
    """One look of the prior at a motion: when it begins and from where the character is seen."""

    yaw_deg: float
    elevation_deg: float
    start: float
    """Frame number of the first frame."""


@dataclass(frozen=True)
class Windows:
    """Draws windows of a motion for a prior, tells the prior about them and films them."""

    prior: VideoPrior
    stage: Stage
    tempo: Tempo
    parameters: Filmable
    follow_box: bool = False
    """AKD's cameras: they follow the smoothed centre of the moving body's box, not the root's base path."""
    _seen: dict[Viewpoint, PointView] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> dict[str, int]:
        """Width and height of the picture."""
        width, height = picture_size(self.prior, np.ptp(self.stage.box, axis=0))
        return {"width": width, "height": height}

    def draw(self, rng: np.random.Generator) -> Window:
        """A random window: of a gait at any phase, of an action wherever it fits."""
        cameras = self.prior.needs.cameras
        yaw = cameras.draw_yaw(rng)
        start = self.parameters.start(float(rng.random()), self.prior.frames)
        return Window(yaw, float(rng.uniform(*cameras.elevation_deg)), start)

    def times(self, window: Window) -> Float[Tensor, "frames"]:
        """Frame numbers of a window."""
        return window.start + self.stage.frame_numbers(self.prior.frames)

    def path(self, window: Window) -> Float[Tensor, "frames 3"]:
        """What the cameras travel with, as a path of the root [m]; no gradient passes."""
        at = self.times(window)
        if not self.follow_box:
            return base_path(self.stage.rig, self.tempo, at)
        return self.stage.root_path(smooth_path(bounding_boxes(self.parameters.centers(at)).mean(1), sigma=SIGMA))

    def view(self, window: Window) -> Viewpoint:
        cameras = self.prior.needs.cameras
        return Viewpoint(window.yaw_deg, window.elevation_deg, sum(cameras.zoom) / 2, cameras.fovy_deg)

    def context(self, window: Window) -> Context:
        """What the prior is told before it sees anything."""
        tempo = self.tempo
        reference = self._reference(window)
        # A cycle begins with the clip; an action lies in its middle.
        begin = 0.0 if tempo.repeats else 0.5 * (self.parameters.frames - 1 - tempo.period)
        phase = (window.start - begin) / tempo.period if tempo.period > 0 else 0.0
        told = (phase % 1.0 if tempo.repeats else phase) if self.prior.needs.phase else None
        pace = (tempo.period, tempo.speed_legs, tempo.repeats)
        motion = (tempo.motion, tempo.variant, tempo.side)
        return Context(reference, window.yaw_deg, window.elevation_deg, told, *pace, *motion)

    def _reference(self, window: Window) -> Float[Tensor, "frames 3 height width"]:
        """Frames that the prior is given, without a gradient."""
        if self.prior.needs.reference == "points":
            return self.point_view(window).still
        if self.prior.needs.reference == "nothing":
            return self.stage.rig.heads.new_empty(0, 3, self.size["height"], self.size["width"])
        if self.prior.needs.reference == "film":
            return self.standing(window)
        cameras = self.stage.cameras(self.path(window)[:1], self.view(window), **self.size)
        return self.parameters.film(self.times(window)[:1], cameras).video.detach()

    def standing(self, window: Window) -> Float[Tensor, "frames 3 height width"]:
        """A film of the character as it stands, carried along its path."""
        path = self.path(window)
        return self.stage.film_carried(path, self.stage.cameras(path, self.view(window), **self.size))

    def point_view(self, window: Window) -> PointView:
        """What is seen of the standing body; kept, because a window is told to the prior and filmed."""
        view = self.view(window)
        if view not in self._seen:
            self._seen[view] = self.stage.view_points(view, columns=self.size["width"], rows=self.size["height"])
        return self._seen[view]

    def cameras(self, window: Window) -> Cameras | PointCameras:
        if self.prior.needs.look == "points":
            return PointCameras(self.point_view(window), base_path(self.stage.rig, self.tempo, self.times(window)))
        return self.stage.cameras(self.path(window), self.view(window), **self.size)

    def film(self, window: Window) -> Filmed:
        """The motion as it is now, as the prior sees it; differentiable."""
        return self.parameters.film(self.times(window), self.cameras(window))
