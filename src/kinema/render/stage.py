"""A character on its ground, ready to render: splats with their skin, colours, scene, and cameras along a path."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.geometry.camera import Cameras, Points
from kinema.render.follow import Viewpoint, follow, framing_distance
from kinema.render.ground import Ground
from kinema.render.image import Video
from kinema.render.points import PointCameras, PointView, view_points
from kinema.render.scene import Scene, render_video
from kinema.rig.held import without_held
from kinema.rig.kinematics import Angles, Rig, Transforms, forward_kinematics
from kinema.rig.limbs import Limbs
from kinema.skin import Skin, blend, skin_points
from kinema.splat.colors import canonical_colors, paint_arms
from kinema.splat.pose import PosedSplats, pose_splats
from kinema.splat.splats import Splats
from kinema.splat.transfer import transfer_weights

Look = Literal["canonical", "color"]
"""The position on the body as a colour, or the asset's colours."""
MARGIN = 1.15
"""Room around the box, as a factor. A model that was trained on these images has to be trained again if it
changes."""


@dataclass(frozen=True)
class Stage:
    """All that stays the same from frame to frame."""

    rig: Rig
    splats: Splats
    skin: Skin
    colors: Float[Tensor, "n 3"]
    standing: Transforms
    """T_world_joint of the body as it stands: at rest, with its arms lowered."""
    box: Float[np.ndarray, "2 3"]
    """Lowest and highest corner of the mesh as it stands [m]."""
    scene: Scene
    unit: float = 1.0
    """Length in which point maps tell places and ways [m]: between the legs' length and half of the body's size."""

    @staticmethod
    def from_character(
        character: Character, rig: Rig, *, count: int, look: Look, rng: np.random.Generator, relax: int = 1,
        limbs: Limbs | None = None, standing: Angles | None = None,
    ) -> "Stage":  # fmt: skip
        """Cover the mesh with `count` Gaussians; `relax` rounds even them out. Limbs that are not given are found.

        What swims or flies without legs has no ground below it.

        Args:
            standing: angles in which the body stands before it moves (`gait.hang.hanging_arms`); by default at rest.
        """
        if look == "canonical" and limbs is not None:
            character = without_held(character, limbs)
        splats, anchor = Splats.from_mesh(character.mesh, count, rng=rng, relax=relax)
        skin = transfer_weights(character, anchor, most=4)
        return Stage.from_splats(character, rig, splats, skin, look, limbs=limbs, standing=standing)

    @staticmethod
    def from_splats(
        character: Character, rig: Rig, splats: Splats, skin: Skin, look: Look, *, limbs: Limbs | None = None,
        standing: Angles | None = None,
    ) -> "Stage":  # fmt: skip
        """Gaussians that were made elsewhere, such as those of `render.refine`."""
        colors = canonical_colors(character, splats.centers, limbs=limbs) if look == "canonical" else splats.colors
        if look == "canonical" and limbs is not None:
            colors = paint_arms(colors, splats.centers, skin, rig, limbs)
        angles = torch.zeros_like(rig.heads) if standing is None else standing.to(rig.heads)
        stands = forward_kinematics(rig, rig.heads[0], angles)
        vertices = torch.from_numpy(np.ascontiguousarray(character.mesh.vertices)).to(rig.heads)
        posed = skin_points(blend(Skin.from_character(character, dtype=rig.heads.dtype), rig, stands), vertices)
        posed = posed[np.unique(character.mesh.faces)]
        box = torch.stack((posed.amin(0), posed.amax(0))).double().numpy()
        # Squares in proportion to the character: images do not tell an ant from an elephant.
        tile = 0.2 * float(np.ptp(box, axis=0).max())
        ground = Ground(tile=tile) if limbs is None or limbs.ground else None
        half = 0.5 * float(np.ptp(box, axis=0).max())
        unit = math.sqrt(half * (limbs.leg_length if limbs is not None else half))
        return Stage(rig, splats, skin, colors, stands, box, Scene(ground=ground), unit)

    def to(self, device: torch.device | str) -> "Stage":
        """The same on a device; everything that is rendered then stays there."""
        skin = Skin(*(None if x is None else x.to(device) for x in vars(self.skin).values()))  # pyright: ignore
        moved = {"splats": self.splats.to(device), "skin": skin, "colors": self.colors.to(device)}
        return replace(self, rig=self.rig.to(device=device), standing=self.standing.to(device), **moved)

    @property
    def size(self) -> float:
        """Longest edge of the box [m]."""
        return float(np.ptp(self.box, axis=0).max())

    def cameras(self, base_path: Points, viewpoint: Viewpoint, *, width: int, height: int) -> Cameras:
        """Cameras that travel with the root's base path; at zoom 1 the whole standing character fills the image."""
        target = torch.from_numpy(self.box.mean(0)).to(base_path) + base_path - self.rig.heads[0]
        extent, image = np.ptp(self.box, axis=0), {"width": width, "height": height}
        side = {"yaw_deg": viewpoint.yaw_deg, "elevation_deg": viewpoint.elevation_deg, "fovy_deg": viewpoint.fovy_deg}
        distance = framing_distance(extent, margin=MARGIN, **side, **image)
        return follow(target, viewpoint, distance=distance, **image)

    def root_path(self, box_centers: Points) -> Points:
        """The path on which the root of the body at rest has its box at given centres [m]."""
        return box_centers - torch.from_numpy(self.box.mean(0)).to(box_centers) + self.rig.heads[0]

    def frame_numbers(self, count: int) -> Float[Tensor, "count"]:
        """0, 1, 2 ... on the stage's device."""
        return torch.arange(count, dtype=self.rig.heads.dtype, device=self.rig.heads.device)

    def posed(self, T_world_joint: Transforms) -> PosedSplats:
        return pose_splats(self.splats, self.skin, self.rig, T_world_joint)

    def film(self, T_world_joint: Transforms, cameras: Cameras | PointCameras) -> Video:
        """Video of the posed character on its ground, or of its point maps."""
        if isinstance(cameras, PointCameras):
            return cameras.view.film(T_world_joint, cameras.base)
        posed = self.posed(T_world_joint)
        return render_video(posed, self.splats.opacities, self.colors, cameras, scene=self.scene)

    def view_points(self, viewpoint: Viewpoint, *, columns: int, rows: int) -> PointView:
        """The standing body as a point map: what the camera of a viewpoint sees, in so many cells; the zoom is the
        share of the picture that it fills."""
        camera = self.cameras(self.rig.heads[:1], viewpoint, width=columns, height=rows)
        standing = self.posed(self.standing[None]).centers[0]
        body = (self.splats.centers, standing, self.colors, self.skin, self.rig)
        return view_points(*body, camera, fill=viewpoint.zoom, size=self.size, unit=self.unit)

    @torch.no_grad()
    def film_carried(self, base_path: Points, cameras: Cameras) -> Video:
        """Video of the character as it stands, carried along the base path like a statue on a cart."""
        carried = self.standing.repeat(len(base_path), 1, 1, 1)
        carried[..., 3] += (base_path - self.rig.heads[0])[:, None]
        return self.film(carried, cameras)
