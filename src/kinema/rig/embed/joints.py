"""A tree of joints that is being built."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Skeleton, bone_tails

Point = Float[np.ndarray, "3"]


@dataclass
class Joints:
    """A tree of joints that is being built: parents come before children."""

    names: list[str]
    parents: list[int]
    heads: list[Point]
    tips: list[Point]
    """Where the bone of a leaf ends."""

    def add(self, name: str, parent: int, head: Point, tip: Point) -> int:
        self.names.append(name)
        self.parents.append(parent)
        self.heads.append(head)
        self.tips.append(tip)
        return len(self.names) - 1

    def chain(self, name: str, parent: int, rows: Float[np.ndarray, "joints 3"], end: Point) -> int:
        """Joints NAME_1, NAME_2 ... one below the other; returns the last one."""
        for k, head in enumerate(rows):
            label = name if len(rows) == 1 else f"{name}_{k + 1}"
            parent = self.add(label, parent, head, rows[k + 1] if k + 1 < len(rows) else end)
        return parent

    def skeleton(self) -> Skeleton:
        heads = np.array(self.heads)
        return Skeleton(
            tuple(self.names), tuple(self.parents), heads, bone_tails(heads, self.parents, np.array(self.tips))
        )
