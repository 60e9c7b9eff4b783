"""A joint tree with the vertices that each joint carries: what roles are read from."""

from functools import cached_property

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.rotations import ancestors, children, depth_first

Points = Float[np.ndarray, "points 3"]
GROUNDED = 0.07
"""Height over the floor up to which a part stands on it [body heights]: a foot may be drawn up a little at rest."""


class JointTree:
    """A skeleton with the vertices that each joint carries, cut into a middle and limbs to either side."""

    def __init__(self, character: Character):
        skeleton, vertices, weights = character.skeleton, character.mesh.vertices, character.weights
        if skeleton is None:
            raise KinemaError(f"{character.name}: has no skeleton; rig it first")
        self.names = tuple(name.lower() for name in skeleton.names)
        self.parents, self.children = skeleton.parents, children(skeleton.parents)
        self.heads, self.tails = (np.asarray(x, dtype=np.float64) for x in (skeleton.heads, skeleton.tails))
        joints = range(len(self.parents))
        if weights is None or not len(vertices):
            self.points = [np.stack((self.heads[j], self.tails[j])) for j in joints]
            self.mass = np.linalg.norm(self.tails - self.heads, axis=-1)
            vertices = np.concatenate(self.points)
        else:
            vertices = np.asarray(vertices, dtype=np.float64)
            strongest, most = weights.argmax(-1), weights.max(0)
            # A joint that dominates nowhere still carries where it is at its strongest.
            held = (weights > np.where((weights > 0.4).any(0), 0.4, np.maximum(0.8 * most, 0.05))).T
            self.points = [vertices[held[j] | (strongest == j)] for j in joints]
            self.mass = weights.sum(0)
        self.floor = float(vertices[:, 1].min())
        self.height = max(float(np.ptp(vertices[:, 1])), 1e-6)
        self.width, self.length = (max(float(np.ptp(vertices[:, axis])), 1e-6) for axis in (0, 2))
        self.size = max(self.height, self.length)
        order = depth_first(self.parents)
        place = {j: i for i, j in enumerate(order)}
        count = np.ones(len(order), dtype=int)
        for j in reversed(order[1:]):
            count[self.parents[j]] += count[j]
        self._subtrees = [order[place[j] : place[j] + count[j]] for j in joints]
        self.middle = self._mirror_plane(float(vertices[:, 0].min() + vertices[:, 0].max()) / 2)
        self.limb_tops = self._limb_tops(order)
        limbs = {k for top in self.limb_tops for k in self.subtree(top)}
        self.middle_joints = [j for j in joints if j > 0 and j not in limbs]

    def subtree(self, j: int) -> list[int]:
        """The joint and all below it."""
        return self._subtrees[j]

    def path(self, j: int) -> list[int]:
        """Joints from below the root to j."""
        return [k for k in (j, *ancestors(self.parents, j)) if k > 0][::-1]

    def carried(self, j: int) -> Points:
        """All vertices that the subtree carries."""
        return np.concatenate([self.points[k] for k in self.subtree(j)])

    def share(self, joints: list[int]) -> float:
        """Share of the body's vertices that the joints carry themselves."""
        return float(self.mass[joints].sum() / max(self.mass.sum(), 1e-12))

    def longest_chain(self, top: int) -> tuple[int, ...]:
        """From the top down, always into the branch with the most joints."""
        chain = [top]
        while self.children[chain[-1]]:
            chain.append(max(self.children[chain[-1]], key=lambda c: (len(self.subtree(c)), len(self.carried(c)))))
        return tuple(chain)

    def reach(self, top: int) -> float:
        """Distance from a joint to the farthest vertex below it [m]."""
        points = self.carried(top)
        return float(np.linalg.norm(points - self.heads[top], axis=-1).max()) if len(points) else 0.0

    def lowest(self, j: int) -> float:
        """Height of the lowest vertex that the joint itself carries, over the floor [m]."""
        return float(self.points[j][:, 1].min()) - self.floor if len(self.points[j]) else np.inf

    @cached_property
    def grounded(self) -> frozenset[int]:
        """Joints that carry something that stands on the ground."""
        return frozenset(j for j in range(len(self.parents)) if self.lowest(j) < GROUNDED * self.height)

    def grounded_chain(self, top: int) -> list[int] | None:
        """Joints from the top to the last one that reaches the ground; None if none does."""
        if self.grounded.isdisjoint(self.subtree(top)):
            return None
        chain = [top]
        # A foot with several toes is the end: its toes follow it.
        while len(below := self._standing(chain[-1])) == 1:
            chain.append(below[0])
        return chain if chain[-1] in self.grounded or below else None

    def _standing(self, j: int) -> list[int]:
        return [c for c in self.children[j] if not self.grounded.isdisjoint(self.subtree(c))]

    def _mirror_plane(self, middle: float) -> float:
        """x of the plane that mirrors the joints best: the root's, unless the middle of the mesh clearly does.

        A sword in one hand moves the middle of the mesh, but not the joints.
        """

        def misfit(x: float) -> float:
            mirrored = self.heads * [-1, 1, 1] + [2 * x, 0, 0]
            return float(np.mean([np.linalg.norm(self.heads - point, axis=-1).min() for point in mirrored]))

        root = float(self.heads[0][0])
        return middle if misfit(middle) < 0.7 * misfit(root) - 1e-3 * self.size else root

    def _limb_tops(self, order: list[int]) -> list[int]:
        """The highest joint of each limb, that is of a subtree whose vertices lie on one side of the middle plane."""
        tops: list[int] = []
        inside: set[int] = set()
        for j in order[1:]:
            if j in inside:
                continue
            x = self.carried(j)[:, 0] - self.middle
            # Limbs that meet in the middle (hips of one mesh) may cross it a little.
            lateral = len(x) and abs(x.mean()) > 0.7 * np.abs(x).mean()
            if lateral and abs(x.mean()) > 0.04 * min(self.width, self.height):
                inside |= set(self.subtree(j))
                tops += self._legs_of_girdle(j)
        # A tail or neck that is bent aside at rest starts near the middle, runs along it and has no image.
        alone = {top for top, partner in zip(tops, self.mirror_partners(tops)) if tops[partner] == top}
        return [j for j in tops if j not in alone or not self._runs_along(j)]

    def _runs_along(self, top: int) -> bool:
        aside, run = abs(self.heads[top][0] - self.middle), np.abs(self.carried(top).mean(0) - self.heads[top])
        return bool(aside < 0.02 * self.size or (aside < 0.2 * self.width and run[2] > 2 * run[0]))

    def mirror_partners(self, tops: list[int]) -> list[int]:
        """Index of each part's mirror image, by its joints; its own without one."""
        centers = np.array([self.heads[self.subtree(j)].mean(0) for j in tops]).reshape(-1, 3)
        partners = []
        for i, center in enumerate(centers):
            gaps = np.linalg.norm(centers - [2 * self.middle - center[0], *center[1:]], axis=-1)
            gaps[i] = np.inf
            best = int(gaps.argmin())
            partners.append(best if gaps[best] < 0.12 * self.size else i)
        return [k if partners[k] == i else i for i, k in enumerate(partners)]

    def _legs_of_girdle(self, top: int) -> list[int]:
        """The legs below a joint that carries several of one side (a spider's); else the joint itself."""
        j, reach = top, self.reach(top)
        while len(below := self._standing(j)) == 1:
            j = below[0]
        # Toes are short beside their leg.
        legs = [c for c in below if self.reach(c) > 0.5 * reach]
        return [k for leg in legs for k in self._legs_of_girdle(leg)] if len(legs) > 1 else [top]
