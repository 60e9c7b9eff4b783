"""Point maps: pictures whose cells are points of a standing body, and films of where these points go.

A video of pixels says where colours are; one of point maps says where the surface is that a camera sees before anything
moves (a pixel's whole trajectory, as in motion-field video models). The mean of skinned points is linear in the joints'
transforms, so a film of a rig is one matrix product, exact in values and gradients, and needs no rasterizer.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from kinema.geometry.camera import Cameras
from kinema.rig.kinematics import Rig, Transforms
from kinema.skin import Skin, from_rest

DEPTH = 0.06
"""How far behind the nearest point of its cell a point is still seen, as a share of the body's size: the far side of a
thin leg is, the leg behind it is not."""

Path = Float[Tensor, "frames 3"]
Maps = Float[Tensor, "frames 3 rows columns"]


@dataclass(frozen=True)
class PointView:
    """What a camera sees of a standing body, in cells of its picture; each cell is the mean of the points in it."""

    still: Float[Tensor, "3 3 rows columns"]
    """Three pictures: places in the body's frame [units], canonical colours, and coverage (0 or 1)."""
    seen: Int[Tensor, "seen"]
    """Points that are seen."""
    cell: Int[Tensor, "seen"]
    share: Float[Tensor, "seen"]
    """One over the number of points in the cell."""
    carry: Float[Tensor, "joints 4 cells"]
    """Weighted rest positions (and weights) of each cell's points: a cell is at the sum of T_joint carry_joint."""
    standing: Float[Tensor, "3 cells"]
    """Where the cells are on the standing body [m]."""
    rig: Rig
    unit: float
    """[m]"""

    @property
    def coverage(self) -> Float[Tensor, "rows columns"]:
        return self.still[2, 0]

    def film(self, T_world_joint: Transforms, base: Path) -> Maps:
        """How far each cell is from where it stands, as the body is carried along the base path of its root [units]."""
        moved = from_rest(self.rig, T_world_joint)
        # [frames 3 (joints 4)] @ [(joints 4) cells]
        places = moved.transpose(-3, -2).flatten(-2) @ self.carry.flatten(0, 1)
        return self._away(places, base)

    def film_points(self, points: Float[Tensor, "frames n 3"], base: Path) -> Maps:
        """The same for points that no skeleton carries."""
        means = points.new_zeros(len(points), self.carry.shape[-1], 3)
        means = means.index_add(1, self.cell, points[:, self.seen] * self.share[:, None])
        return self._away(means.mT, base)

    def _away(self, places: Float[Tensor, "frames 3 cells"], base: Path) -> Maps:
        travel = (base - self.rig.heads[0])[..., None]
        away = (places - self.standing - travel) / self.unit * self.coverage.flatten()
        return away.unflatten(-1, tuple(self.coverage.shape))


@dataclass(frozen=True)
class PointCameras:
    """A film of point maps: what is seen of the standing body, and where the root's base path is in every frame."""

    view: PointView
    base: Path


@torch.no_grad()
def view_points(
    rest: Float[Tensor, "n 3"], standing: Float[Tensor, "n 3"], colors: Float[Tensor, "n 3"], skin: Skin, rig: Rig,
    camera: Cameras, *, fill: float, size: float, unit: float,
) -> PointView:  # fmt: skip
    """The cells of a picture, one per pixel of the camera, and the points that are seen in them.

    The picture is cut out and enlarged so that the body fills that share of it: what moves need not stay in it.

    Args:
        rest: surface points as the skin carries them [m].
        standing: the same points of the standing body [m].
        fill: share of the picture's width or height, up to 1.
        size: of the body [m].
        unit: in which places and ways are told [m].
    """
    there = standing @ camera.T_camera_world[0, :, :3].mT + camera.T_camera_world[0, :, 3]
    ray = there[:, :2] / there[:, 2:].clamp(min=1e-6)
    low, high = ray.amin(0), ray.amax(0)
    picture = ray.new_tensor([camera.width, camera.height])
    cells_per_ray = fill * (picture / (high - low).clamp(min=1e-9)).amin()
    place = (ray - (low + high) / 2) * cells_per_ray + picture / 2
    column, row = place.floor().long().clamp(min=0).minimum(picture.long() - 1).unbind(-1)
    cells, cell = camera.width * camera.height, row * camera.width + column
    nearest = there.new_full((cells,), torch.inf).scatter_reduce(0, cell, there[:, 2], "amin")
    seen = (there[:, 2] <= nearest[cell] + DEPTH * size).nonzero().flatten()
    cell = cell[seen]
    count = torch.bincount(cell, minlength=cells).to(rest)
    share = 1 / count[cell]

    def mean(values: Float[Tensor, "seen 3"]) -> Float[Tensor, "3 rows columns"]:
        total = values.new_zeros(cells, 3).index_add(0, cell, values * share[:, None])
        return total.T.reshape(3, camera.height, camera.width)

    joints, weights = skin.joints[seen], skin.weights[seen] * share[:, None]
    carried = rest[seen, None].expand(-1, joints.shape[1], -1)
    if skin.rest_offsets is not None:
        carried = carried + skin.rest_offsets[seen]
    values = weights[..., None] * torch.cat((carried, torch.ones_like(carried[..., :1])), -1)
    carry = rest.new_zeros(len(rig.parents) * cells, 4)
    carry = carry.index_add(0, (joints * cells + cell[:, None]).flatten(), values.flatten(0, 1))
    carry = carry.reshape(len(rig.parents), cells, 4).mT.contiguous()
    covered = (count > 0).to(rest).reshape(1, camera.height, camera.width)
    places = mean(standing[seen])
    # Height over the ground; the root is the origin otherwise, wherever a file has put the body.
    origin = rig.heads[0] * rest.new_tensor([1.0, 0.0, 1.0])
    still = torch.stack((
        (places - origin[:, None, None]) / unit * covered, mean(colors[seen]), covered.expand(3, -1, -1)
    ))  # fmt: skip
    return PointView(still, seen, cell, share, carry, places.flatten(1), rig, unit)
