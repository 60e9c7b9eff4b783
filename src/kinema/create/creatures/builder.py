"""A notebook in which the body plans write joints, limbs and blobs down."""

import numpy as np

from kinema.create.creatures.field import CORE, Blob, Body, Eye, Limb, Shell
from kinema.create.creatures.proportions import Number, Rgb


class Builder:
    """Collects joints, limbs and blobs while a plan is read; only the plans see it."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parents: list[int] = []
        self.heads: list[np.ndarray] = []
        self.tails: list[np.ndarray] = []
        self.core: list[int] = []
        self.limbs: list[Limb] = []
        self.blobs: list[Blob] = []
        self.marks: list[Blob] = []
        self.shells: list[Shell] = []
        self.eyes: list[Eye] = []

    def joint(self, name: str, parent: int, head: np.ndarray, tail: np.ndarray) -> int:
        self.names.append(name)
        self.parents.append(parent)
        self.heads.append(np.asarray(head, dtype=np.float64))
        self.tails.append(np.asarray(tail, dtype=np.float64))
        return len(self.names) - 1

    def chain(self, names: list[str], parent: int, nodes: list[np.ndarray]) -> list[int]:
        """Joints between consecutive nodes, each the child of the one before."""
        joints = []
        for name, head, tail in zip(names, nodes[:-1], nodes[1:], strict=True):
            parent = self.joint(name, parent, head, tail)
            joints.append(parent)
        return joints

    def limb(self, joints: list[int], blend: float, cut: float = 1.0) -> int:
        self.limbs.append(Limb(tuple(joints), blend, cut))
        return len(self.limbs) - 1

    def blob(
        self,
        a: np.ndarray,
        b: np.ndarray,
        radius_a: Number,
        radius_b: Number,
        color: Rgb,
        *,
        limb: int = CORE,
        blend: float,
        scale: tuple[Number, Number, Number] = (1.0, 1.0, 1.0),
        sharp: float = 2.0,
    ) -> None:
        color_array = np.asarray(color, dtype=np.float64)
        ends = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        scale = (float(scale[0]), float(scale[1]), float(scale[2]))
        self.blobs.append(Blob(*ends, float(radius_a), float(radius_b), color_array, limb, float(blend), scale, sharp))

    def mark(
        self,
        a: np.ndarray,
        b: np.ndarray,
        radius_a: Number,
        radius_b: Number,
        color: Rgb,
        *,
        soft: Number,
        limb: int = -2,
        scale: tuple[Number, Number, Number] = (1.0, 1.0, 1.0),
    ) -> None:
        """Paint; `limb` restricts it to one part (CORE or a limb), -2 to none."""
        ends = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        rgb, stretch = np.asarray(color, dtype=np.float64), (float(scale[0]), float(scale[1]), float(scale[2]))
        self.marks.append(Blob(*ends, float(radius_a), float(radius_b), rgb, limb, float(soft), stretch))

    def build(self) -> Body:
        return Body(
            tuple(self.names),
            tuple(self.parents),
            np.array(self.heads),
            np.array(self.tails),
            tuple(self.core),
            tuple(self.limbs),
            tuple(self.blobs),
            tuple(self.marks),
            tuple(self.shells),
            tuple(self.eyes),
        )


def forward(angle_deg: Number) -> np.ndarray:
    """Unit vector in the plane of symmetry, `angle_deg` above straight ahead."""
    angle = np.deg2rad(angle_deg)
    return np.array([0.0, np.sin(angle), np.cos(angle)])


def side(vector: np.ndarray, sign: float) -> np.ndarray:
    return vector * [sign, 1.0, 1.0]
