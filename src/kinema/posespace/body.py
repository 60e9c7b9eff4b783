"""`Body`: what the pose model knows of a rig: where its joints are at rest, what skin they carry, how they are related.

No names: strangers' rigs have other ones. Lengths are divided by `scale`, the longest way from the root along bones,
which does not depend on the pose that happens to be the rest pose.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.rotations import children
from kinema.geometry.surface import face_areas_normals

PerJoint = Float[np.ndarray, "joints 3"]
SELF, PARENT, CHILD, SIBLING, PARTNER, ANCESTOR, DESCENDANT, OTHER, ROOT_TOKEN = range(9)
"""Relations of a joint to another; the last is to or from the root's own token."""
FARTHEST = 15
"""Bones between two joints beyond which farther ones count as equally far."""
CODES = (ROOT_TOKEN + 1) * (FARTHEST + 1)
"""Number of pairs of relation and distance."""
MIRROR_TOLERANCE = 0.05
"""Distance of a joint from the mirror image of its partner, as a share of the body's scale."""


@dataclass(frozen=True)
class Body:
    """A joint tree at rest with the skin that each joint carries. Joint 0 is the root, parents come before children."""

    parents: tuple[int, ...]
    heads: PerJoint
    """[m], feet at y = 0."""
    tails: PerJoint
    skin_centers: PerJoint
    """Mean of the carried surface relative to the head [m]; 0 where a joint carries none."""
    skin_spreads: Float[np.ndarray, "joints 3 3"]
    """Covariance of the carried surface [m²]."""
    skin_shares: Float[np.ndarray, "joints"]
    """Share of the whole surface."""

    @staticmethod
    def of(character: Character) -> "Body":
        """The body of a rigged character; one without a mesh is its joints alone."""
        skeleton = character.skeleton
        if skeleton is None or not len(skeleton.names):
            raise KinemaError(f"{character.name}: has no joints, so it has no poses; rig it first")
        mesh, weights = character.mesh, character.weights
        if weights is None or not len(mesh.faces):
            return Body.from_points(skeleton.parents, skeleton.heads, skeleton.tails, np.zeros((0, 3)), None)
        area = face_areas_normals(mesh.vertices, mesh.faces)[0]
        share = np.bincount(mesh.faces.ravel(), np.repeat(area / 3, 3), len(mesh.vertices))
        return Body.from_points(
            skeleton.parents, skeleton.heads, skeleton.tails, mesh.vertices, weights * share[:, None]
        )

    @staticmethod
    def from_points(
        parents: tuple[int, ...], heads: np.ndarray, tails: np.ndarray, points: Float[np.ndarray, "points 3"],
        weights: Float[np.ndarray, "points joints"] | None,
    ) -> "Body":  # fmt: skip
        """From points of the surface and the area that each joint carries at each."""
        heads, tails = np.asarray(heads, np.float64), np.asarray(tails, np.float64)
        count = len(parents)
        centers, spreads, shares = np.zeros((count, 3)), np.zeros((count, 3, 3)), np.zeros(count)
        if weights is not None and len(points):
            points, weights = points.astype(np.float64), np.asarray(weights, np.float64)
            mass = weights.sum(0)
            shares = mass / max(mass.sum(), 1e-300)
            part = weights / np.maximum(mass, 1e-300)
            centers = np.where(mass[:, None] > 0, part.T @ points - heads, 0.0)
            outer = part.T @ (points[:, :, None] * points[:, None, :]).reshape(-1, 9)
            middle = centers + heads
            spreads = outer.reshape(-1, 3, 3) - middle[:, :, None] * middle[:, None, :]
            spreads[mass <= 0] = 0.0
        return Body(tuple(int(p) for p in parents), heads, tails, centers, spreads, shares)

    @cached_property
    def scale(self) -> float:
        """Longest way from the root along bones [m]."""
        return max(float((self.ways + np.linalg.norm(self.tails - self.heads, axis=-1)).max()), 1e-9)

    @cached_property
    def ways(self) -> Float[np.ndarray, "joints"]:
        """Length of the bones from the root to each joint [m]."""
        way = np.zeros(len(self.parents))
        for j, p in enumerate(self.parents):
            if p >= 0:
                way[j] = way[p] + np.linalg.norm(self.heads[j] - self.heads[p])
        return way

    @cached_property
    def depths(self) -> Int[np.ndarray, "joints"]:
        """Bones from the root to each joint."""
        depth = np.zeros(len(self.parents), dtype=np.int64)
        for j, p in enumerate(self.parents):
            if p >= 0:
                depth[j] = depth[p] + 1
        return depth

    @cached_property
    def counts(self) -> Int[np.ndarray, "joints"]:
        """Number of children."""
        return np.array([len(below) for below in children(self.parents)])

    @cached_property
    def partners(self) -> Int[np.ndarray, "joints"]:
        """Mirror image of each joint across the plane through the root; itself where there is none."""
        image = self.heads * [-1.0, 1.0, 1.0] + [2 * self.heads[0, 0], 0.0, 0.0]
        gap = np.linalg.norm(image[:, None] - self.heads[None], axis=-1) / self.scale
        # Of joints at one place, those that branch alike.
        gap = gap + 0.02 * (self.depths[:, None] != self.depths) + 0.01 * (self.counts[:, None] != self.counts)
        np.fill_diagonal(gap, np.inf)
        best = gap.argmin(1) if len(gap) > 1 else np.zeros(1, dtype=np.int64)
        own = np.arange(len(gap))
        aside = np.abs(self.heads[:, 0] - self.heads[0, 0]) > 0.01 * self.scale
        paired = (gap[own, best] < MIRROR_TOLERANCE) & (best[best] == own) & aside
        return np.where(paired, best, own)

    @cached_property
    def codes(self) -> Int[np.ndarray, "tokens tokens"]:
        """Relation and distance of every pair as one number; the last token is the root's own."""
        parents, count = np.array(self.parents), len(self.parents)
        above = np.zeros((count, count), dtype=bool)
        for j, p in enumerate(self.parents):
            above[j, j] = True
            if p >= 0:
                above[j] |= above[p]
        shared = (above[:, None] & above[None]).sum(-1)
        depth = self.depths
        distance = np.minimum(depth[:, None] + depth[None] - 2 * (shared - 1), FARTHEST)
        relation = np.full((count, count), OTHER)
        relation[(parents[:, None] == parents[None]) & (parents >= 0)[:, None]] = SIBLING
        relation[above] = ANCESTOR
        relation[above.T] = DESCENDANT
        below = np.flatnonzero(parents >= 0)
        relation[below, parents[below]] = PARENT
        relation[parents[below], below] = CHILD
        own = np.arange(count)
        relation[own, self.partners] = PARTNER
        relation[own, own] = SELF
        result = np.full((count + 1, count + 1), ROOT_TOKEN * (FARTHEST + 1))
        result[:count, :count] = relation * (FARTHEST + 1) + distance
        result[count, :count] = result[:count, count] = ROOT_TOKEN * (FARTHEST + 1) + np.minimum(depth + 1, FARTHEST)
        return result
