"""Marks: points of the skin that a video in the canonical look shows by their colours, and how far a pose is from them.

Rendered images pull a limb only while it overlaps the limb that they show: an arm that hangs never finds the arm that
waves. A colour tells which point of the body is seen, so the middle of all pixels of that colour is where the point
should be, however far away it is now. Blurred videos keep that middle.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.distill.parameters import Filmed
from kinema.geometry.camera import Cameras
from kinema.prior.protocol import Video
from kinema.render.stage import Stage
from kinema.rig.kinematics import Transforms
from kinema.skin import Skin, blend, skin_points

COUNT = 72
COLOR_SIGMA = 0.1
"""Deviation of the colours that count as those of a mark."""
GREY, DARK = 0.2, 0.3
"""Range of a pixel's channels below which it is ground or sky, and brightness below which it is body all the same."""
FEW_PIXELS = 3.0
"""Pixels of its colour at which a mark is half believed."""
SCATTER_PX = 10.0
"""Deviation of those pixels' places at which a mark is hardly believed: they show two parts."""
MOST_BIAS_PX = 8.0
"""Distance of a standing mark from the middle of its colour up to which it counts as seen."""
UNSEEN = 0.3
"""Confidence in a mark that cannot be seen as the body stands, relative to others."""
NEAR_PX = 6.0
"""Distance at which a mark costs about one; beyond twice of it the cost grows linearly."""

Places = Float[Tensor, "frames marks 2"]
Still = Float[Tensor, "1 3 height width"]


@dataclass(frozen=True)
class Marks:
    """Points of a character's skin that are spread over its body and its colours."""

    colors: Float[Tensor, "marks 3"]
    points: Float[Tensor, "marks 3"]
    """At rest [m]."""
    skin: Skin
    picked: tuple[int, ...]
    """The Gaussians that they are."""

    @staticmethod
    def of(stage: Stage, *, count: int = COUNT) -> "Marks":
        """Gaussians picked one by one, each as far as possible from those before in place and colour."""
        spread = torch.cat((stage.colors, 0.7 * stage.splats.centers / stage.size), -1)
        picked = [0]
        far = (spread - spread[0]).norm(dim=-1)
        while len(picked) < min(count, len(spread)):
            picked.append(int(far.argmax()))
            far = torch.minimum(far, (spread - spread[picked[-1]]).norm(dim=-1))
        skin = Skin(stage.skin.joints[picked], stage.skin.weights[picked])
        return Marks(stage.colors[picked], stage.splats.centers[picked], skin, tuple(picked))

    def at(self, stage: Stage, T_world_joint: Transforms) -> Float[Tensor, "frames marks 3"]:
        """The marks of posed frames [m]."""
        return skin_points(blend(self.skin, stage.rig, T_world_joint), self.points)

    def filmed(self, stage: Stage, filmed: Filmed) -> Float[Tensor, "frames marks 3"]:
        """The marks of a window, whatever moves it [m]."""
        if filmed.T_world_joint is not None:
            return self.at(stage, filmed.T_world_joint)
        assert filmed.points is not None
        return filmed.points[:, self.picked]


@dataclass(frozen=True)
class Aims:
    """Where a video shows the marks."""

    cameras: Cameras
    places_px: Places
    confidence: Float[Tensor, "frames marks"]


@torch.no_grad()
def find_aims(marks: Marks, stage: Stage, video: Video, cameras: Cameras, *, still: Still, at_rest: Cameras) -> Aims:
    """Places of the marks in a video of this body.

    The middle of a colour is not quite where its mark is (half of a belly is out of sight), so the same difference is
    taken off as the standing body has: `still` shows it in one frame, seen by the camera `at_rest`.
    """
    places, confidence = locate(video, marks.colors)
    seen, sure = locate(still, marks.colors)
    bias = seen - project(marks.at(stage, stage.standing[None]), at_rest)
    visible = (sure > UNSEEN) & (bias.norm(dim=-1) < MOST_BIAS_PX)
    return Aims(cameras, places - bias * visible[..., None], confidence * torch.where(visible, 1.0, UNSEEN))


def locate(video: Video, colors: Float[Tensor, "marks 3"]) -> tuple[Places, Float[Tensor, "frames marks"]]:
    """Middle of the pixels of each colour [px], and how far to believe it (0 to 1)."""
    high, low = video.amax(1), video.amin(1)
    frame, y, x = ((high - low > GREY) | (high < DARK)).nonzero(as_tuple=True)
    place = torch.stack((x, y), -1) + 0.5
    apart = torch.cdist(video[frame, :, y, x], colors).square()
    share = torch.exp(-apart / (2 * COLOR_SIGMA**2))

    def total(values: Float[Tensor, "pixels marks"]) -> Float[Tensor, "frames marks"]:
        return values.new_zeros(len(video), len(colors)).index_add(0, frame, values)

    mass = total(share)
    moments = [torch.stack([total(share * place[:, k : k + 1] ** n) for k in (0, 1)], -1) for n in (1, 2)]
    middle, square = (moment / mass.clamp(min=1e-6)[..., None] for moment in moments)
    scatter = (square - middle.square()).clamp(min=0).sum(-1)
    return middle, mass / (mass + FEW_PIXELS) * torch.exp(-scatter / (2 * SCATTER_PX**2))


def project(points: Float[Tensor, "frames points 3"], cameras: Cameras) -> Places:
    """Pixels in which points are seen."""
    there = points @ cameras.T_camera_world[:, :, :3].mT + cameras.T_camera_world[:, None, :, 3]
    focal, center = cameras.focal_center_px[:, None].split(2, -1)
    return there[..., :2] / there[..., 2:].clamp(min=1e-3) * focal + center


def mark_distance(marks: Float[Tensor, "frames marks 3"], aims: Aims) -> Float[Tensor, ""]:
    """Mean cost of the marks' distances from where a video shows them: squared when near, linear when far."""
    away = (project(marks, aims.cameras) - aims.places_px) / NEAR_PX
    cost = 8 * ((1 + away.square().sum(-1) / 4).sqrt() - 1)
    return (aims.confidence * cost).sum() / aims.confidence.sum().clamp(min=1)
