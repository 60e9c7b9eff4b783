"""A character in viser's scene: coloured mesh, splats and skeleton, posed together."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_points
from kinema.splat.pose import pose_splats, rest_splats
from kinema.splat.splats import Splats
from kinema.splat.transfer import splat_character
from kinema.view.palette import pieces_of

if TYPE_CHECKING:
    from viser import SceneApi

Pose = Float[Tensor, "joints 3 4"]
GAUSSIANS = 8000
BONE, JOINT, CHOSEN, PINNED = (36, 72, 120), (245, 158, 66), (225, 45, 70), (30, 150, 90)
SPLAT_UNIT = 0.01
"""Unit of length of the splats, in the character's size. The renderer keeps covariances in half precision, for which
square millimetres would be too small."""


def relative_to(origin: Float[np.ndarray, "3"], T_world_joint: Pose) -> Pose:
    """T_scene_joint: the pose seen from a scene whose origin is a point of the world."""
    T_scene_joint = T_world_joint.clone()
    T_scene_joint[..., 3] -= torch.from_numpy(origin).to(T_scene_joint)
    return T_scene_joint


class ShownCharacter:
    """Handles of one character under the node `name`; `pose` moves all that is visible.

    Poses are relative to a point of the world, the origin of the scene, that the caller subtracts. A node's position
    could do the same, but a slow browser applies it earlier than the vertices, and the character leaves the picture.
    """

    def __init__(self, scene: "SceneApi", name: str, character: Character, rig: Rig | None) -> None:
        self.scene, self.name, self.character, self.rig = scene, name, character, rig
        mesh = character.mesh
        if not len(mesh.faces):
            raise KinemaError(f"{character.name}: has no surface to show")
        self.size = float(np.ptp(mesh.vertices, axis=0).max())
        self.skin = Skin.from_character(character) if rig is not None and character.weights is not None else None
        self.vertices = torch.from_numpy(np.ascontiguousarray(mesh.vertices)).float()
        self.node = scene.add_frame(name, show_axes=False)
        self.pieces = pieces_of(mesh)
        self.meshes: list[Any] = []
        for piece, positions in zip(self.pieces.pieces, self.pieces.positions(mesh.vertices), strict=True):
            at, look = f"{name}/mesh/{len(self.meshes)}", {"color": piece.color, "side": "double"}
            self.meshes.append(scene.add_mesh_simple(at, positions.astype(np.float32), piece.faces, **look))
        self.cloud: tuple[Splats, Skin | None] | None = None
        self.splats: Any = None
        self.bones: Any = None
        self.joints: Any = None
        if rig is not None:
            self._add_skeleton(rig)
        self.grain = 0.0
        """Vertices are rounded to multiples of this [m]; 0: not at all."""
        self.at: Pose | None = None

    def pose(self, T_scene_joint: Pose | None) -> None:
        """Move all that is visible; None is the rest pose of a mesh without a rig."""
        self.at = T_scene_joint
        if self.meshes[0].visible:
            vertices = self._posed_vertices(T_scene_joint).numpy()
            if self.grain:
                vertices = np.round(vertices / self.grain) * np.float32(self.grain)
            for handle, positions in zip(self.meshes, self.pieces.positions(vertices), strict=True):
                handle.vertices = positions
        if self.splats is not None and self.splats.visible:
            self.splats.set_gaussians(*self._gaussians())
        if T_scene_joint is not None and self.bones is not None and self.bones.visible:
            heads = T_scene_joint[..., 3].numpy().astype(np.float32)
            self.joints.batched_positions = heads
            self.bones.points = self._segments(heads)

    def pose_frame(self, motion: Motion, frame: int, origin: Float[np.ndarray, "3"]) -> None:
        """Pose as a motion does in one frame, relative to `origin`."""
        self.pose(self._pose_of(motion, frame, origin))

    def travelled_points(self, motion: Motion, path: Float[np.ndarray, "frames 3"]) -> Float[np.ndarray, "points 3"]:
        """Vertices of up to twelve frames of a motion, relative to its path."""
        frames = torch.linspace(0, len(motion) - 1, min(len(motion), 12)).round().long().tolist()
        posed = (self._posed_vertices(self._pose_of(motion, frame, path[frame])) for frame in frames)
        return np.concatenate([vertices.double().numpy() for vertices in posed])

    def show(self, *, mesh: bool, splats: bool, skeleton: bool) -> None:
        """Choose what is visible; the mesh turns to glass around a skeleton."""
        if splats and self.splats is None:
            rng, unit = np.random.default_rng(0), SPLAT_UNIT * self.size
            if self.skin is None:
                self.cloud = Splats.from_mesh(self.character.mesh, GAUSSIANS, rng=rng)[0], None
            else:
                self.cloud = splat_character(self.character, GAUSSIANS, rng=rng)
            self.splats = self.scene.add_gaussian_splats(f"{self.name}/splats", *self._gaussians(), scale=unit)
        for handle in self.meshes:
            # Glass with its back faces drawn would be patches of one and two layers.
            handle.visible, handle.opacity, handle.side = mesh, *((0.45, "front") if skeleton else (None, "double"))
        if self.splats is not None:
            self.splats.visible = splats
        if self.bones is not None:
            self.bones.visible = self.joints.visible = skeleton
        self.pose(self.at)

    def mark(self, joint: int | None, pinned: Collection[int] = ()) -> None:
        """Colour the chosen joint and those that are pinned."""
        colors = np.tile(np.array(JOINT, np.uint8), (len(self.joints.batched_positions), 1))
        colors[list(pinned)] = PINNED
        if joint is not None:
            colors[joint] = CHOSEN
        self.joints.batched_colors = colors

    def _pose_of(self, motion: Motion, frame: int, origin: Float[np.ndarray, "3"]) -> Pose:
        assert self.rig is not None
        T_world_joint = motion[frame : frame + 1].pose(self.rig)[0].detach()
        return relative_to(origin, T_world_joint)

    def _posed_vertices(self, T_scene_joint: Pose | None) -> Float[Tensor, "vertices 3"]:
        if T_scene_joint is None or self.skin is None or self.rig is None:
            return self.vertices
        return skin_points(blend(self.skin, self.rig, T_scene_joint), self.vertices)

    def _add_skeleton(self, rig: Rig) -> None:
        import trimesh

        heads = rig.heads.numpy().astype(np.float32)
        thickness = 0.008 * self.size
        self.bones = self.scene.add_line_segments(
            f"{self.name}/bones", self._segments(heads), np.array(BONE, np.uint8), thickness=thickness, visible=False
        )
        ball = trimesh.creation.icosphere(subdivisions=2, radius=1.4 * thickness)
        shape = np.asarray(ball.vertices, np.float32), np.asarray(ball.faces, np.uint32)
        still = np.tile(np.array([1.0, 0, 0, 0], np.float32), (len(heads), 1))
        look = {"lod": "off", "cast_shadow": False, "visible": False}
        self.joints = self.scene.add_batched_meshes_simple(f"{self.name}/joints", *shape, still, heads, **look)
        self.mark(None)

    def _segments(self, heads: Float[np.ndarray, "joints 3"]) -> Float[np.ndarray, "bones 2 3"]:
        """Segments from each parent's head to its child's; a lone joint is a point."""
        assert self.rig is not None
        parents = np.maximum(np.array(self.rig.parents), 0)
        return np.stack((heads[parents], heads), 1)[min(1, len(heads) - 1) :]

    def _gaussians(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        assert self.cloud is not None
        splats, skin = self.cloud
        if skin is None or self.at is None or self.rig is None:
            posed = rest_splats(splats)
        else:
            posed = pose_splats(splats, skin, self.rig, self.at[None])
        unit = SPLAT_UNIT * self.size
        centers, covariances = posed.centers[0].numpy() / unit, posed.covariances[0].numpy() / unit**2
        return centers, covariances, splats.colors.numpy(), splats.opacities.numpy()[:, None]
