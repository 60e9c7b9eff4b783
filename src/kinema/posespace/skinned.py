"""A character's mesh in many poses: where its vertices are, and which parts of it touch."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.contact import ContactMesh
from kinema.posespace.pose import Poses
from kinema.rig.kinematics import Rig, Transforms
from kinema.skin import Skin, blend, skin_points

CREASE = 0.1
"""Distance at rest, in sizes of the body, up to which two faces that meet are a crease of the skin or a shirt on its
body. Artists' clips meet themselves in nearly all poses there, and in one of eight elsewhere."""
TOUCHING = 0.003
"""Share of faces in new contacts above which a pose intersects itself."""
LOWEST_POINTS = 400
"""Vertices that are looked at for the lowest one."""
DENSE = 40_000
"""Faces above which contacts are not looked for: scans take seconds."""


@dataclass(frozen=True)
class Skinned:
    """A character whose poses can be placed and looked at."""

    rig: Rig
    skin: Skin | None
    vertices: Float[Tensor, "vertices 3"]
    contacts: ContactMesh | None

    @staticmethod
    def of(character: Character) -> "Skinned":
        if character.skeleton is None:
            raise KinemaError(f"{character.name}: has no joints")
        mesh, rig = character.mesh, Rig.from_skeleton(character.skeleton)
        vertices = torch.from_numpy(np.ascontiguousarray(mesh.vertices)).float()
        if character.weights is None or not len(mesh.faces):
            return Skinned(rig, None, rig.heads, None)
        contacts = ContactMesh.of(mesh.vertices, mesh.faces, near=CREASE) if len(mesh.faces) <= DENSE else None
        return Skinned(rig, Skin.from_character(character), vertices, contacts)

    def posed(self, T_world_joint: Transforms, every: int = 1) -> Float[Tensor, "frames points 3"]:
        """Vertices (joints, without a mesh), or one of `every` of them [m]."""
        if self.skin is None:
            return T_world_joint[..., 3]
        skin = Skin(self.skin.joints[::every], self.skin.weights[::every])
        return skin_points(blend(skin, self.rig, T_world_joint), self.vertices[::every])

    def lowest(self, T_world_joint: Transforms) -> Float[Tensor, "frames"]:
        """Height of the lowest of some vertices [m]."""
        return self.posed(T_world_joint, max(1, len(self.vertices) // LOWEST_POINTS))[..., 1].amin(1)

    def touching(self, poses: Poses) -> Float[np.ndarray, "poses"]:
        """Share of the faces that are in new contacts."""
        if self.contacts is None:
            return np.zeros(len(poses))
        return self.contacts.share(self.posed(poses.place(self.rig)).double().numpy())

    def intersecting(self, poses: Poses) -> Bool[np.ndarray, "poses"]:
        """Poses with more than `TOUCHING` of their faces in new contacts."""
        return self.touching(poses) > TOUCHING
