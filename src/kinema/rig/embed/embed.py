"""A skeleton for a mesh that has none: the template that fits best, or else a tree that follows its branches.

`embed` compares all forms of body (`plans`) with the mesh by one measure: the cost of the template's embedding per
point, and signs that the body has no such limbs (`fit`) or others (branches without a bone). Where every template
measures more than TREE, the body has a plan of its own (`tree`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.errors import KinemaError
from kinema.rig.embed.branches import Branch, find_branches
from kinema.rig.embed.fit import Fit, fit
from kinema.rig.embed.medial import Balls, pack_balls
from kinema.rig.embed.plans import FORMS, BodyPlan, roles_of
from kinema.rig.embed.shape import shape
from kinema.rig.embed.templates import templates
from kinema.rig.embed.tree import grow
from kinema.rig.weights.bone_heat import Visibility, coarse_mesh, rig_character

NO_RIG = "no rig:"
"""Beginning of the line that tells what was found."""
SYMMETRIC = 0.02
"""Largest distance of the mirror image from a symmetric mesh, in lengths of its longest side."""
WEIGHTS = (0.99, 5.04, 0.9, 2.78, 1.77, 3.15)
"""Weights of the measure's parts: cost per point, branches without a bone, tips that no end of the body is near to,
limbs as thick as the trunk, legs off the ground, feet more or less than legs."""
FOLDED = "bird with folded wings"
"""What a biped with a tail and no arms is."""
SURE_OF_WINGS = 0.7
"""Greatest confidence of such a bird: some that are modelled so have no wings to be seen."""
TREE = 8.45
"""Measure from which on a template is worse than a tree of the body's own branches."""


@dataclass(frozen=True)
class Embedding:
    """The skeleton that was found for a mesh."""

    plan: BodyPlan
    form: str
    """The plan in words, such as "short-legged quadruped"."""
    skeleton: Skeleton
    roles: Mapping[str, tuple[str, ...]]
    """Names of joints by role, as `Character.roles`."""
    confidence: float
    """Probability of the plan, in [0, 1]: its share in the softmax of minus the measures; 1 if it was given."""
    measures: Mapping[str, float]
    """What each form measured; the least was taken."""

    @property
    def words(self) -> str:
        return f"{self.form}, {len(self.skeleton.names)} joints, confidence {self.confidence:.2f}"


def auto_rig(character: Character, plan: BodyPlan | None = None, *, visibility: Visibility = "field") -> Character:
    """Give an unrigged character (facing +Z, standing on y = 0) a skeleton and bone heat weights.

    `Character.changes` tells what was found, and `Character.roles` which joints are legs, arms, wings, fins and tails.
    """
    return rig_as(replace(character, skeleton=None), plan, visibility=visibility)[0]


def rig_as(
    character: Character, plan: BodyPlan | None = None, *, visibility: Visibility = "field"
) -> tuple[Character, Embedding | None]:
    """The character with the skeleton and the weights that it lacks, and what was found where it lacked a skeleton."""
    if character.skeleton is not None:
        if character.weights is not None:
            return character, None
        return rig_character(character, character.skeleton, visibility=visibility), None
    found = embed(character.mesh, plan)
    rigged = rig_character(character, found.skeleton, visibility=visibility)
    said = f"{NO_RIG} {found.words}; kinema rig to see and change it"
    return replace(rigged, roles={**found.roles, **character.roles}, changes=(*character.changes, said)), found


def embed_skeleton(mesh: Mesh, plan: BodyPlan | None = None) -> Skeleton:
    """The skeleton alone, see `embed`."""
    return embed(mesh, plan).skeleton


def embed(mesh: Mesh, plan: BodyPlan | None = None) -> Embedding:
    """Find the joints of a mesh that faces +Z and stands on y = 0, for a body plan (None: the one that fits best)."""
    if len(mesh.faces) == 0 or not np.isfinite(mesh.vertices).all():
        raise KinemaError("a skeleton needs a mesh with triangles and finite vertices to lie in")
    mesh = coarse_mesh(mesh)
    balls = pack_balls(mesh, symmetric=is_symmetric(mesh))
    return choose(mesh, balls, find_branches(balls), plan)


def choose(mesh: Mesh, balls: Balls, branches: list[Branch], plan: BodyPlan | None) -> Embedding:
    """The best of the templates and of the tree."""
    forms = [form for form in FORMS if plan in (None, form.plan)]
    fits = [fit(templates(form), balls) for form in forms]
    measures = {one.template.form.name: measure(one, balls, branches) for one in fits}
    if plan in (None, "snake", "tree"):
        own = grow(mesh, balls, branches, snake=plan == "snake")
        # A body that is one long chain is a snake, whatever template might be laid into it.
        measures[own.plan] = 0.0 if own.plan == "snake" else TREE
        if measures[own.plan] <= min(measures.values()):
            sure = 1.0 if plan is not None else _confidence(own.plan, measures)
            return Embedding(own.plan, own.plan, own.skeleton, own.roles, sure, measures)
    best = min(fits, key=lambda one: measures[one.template.form.name])
    skeleton, form = shape(best, balls, branches, mesh.vertices), best.template.form
    sure = 1.0 if plan is not None else _confidence(form.plan, measures)
    found, name = form.plan, form.name
    if plan is None and found == "biped" and any("wing" in joint for joint in skeleton.names):
        found, name, sure = "bird", FOLDED, min(sure, SURE_OF_WINGS)
    return Embedding(found, name, skeleton, roles_of(skeleton.names), sure, measures)


def measure(found: Fit, balls: Balls, branches: list[Branch]) -> float:
    """The one measure by which templates are compared: cost per point, and branches without a bone."""
    return float(np.dot(WEIGHTS, features(found, balls, branches)))


def features(found: Fit, balls: Balls, branches: list[Branch]) -> tuple[float, ...]:
    return (
        found.cost,
        _bare_share(found, balls, branches),
        found.unreached,
        found.thick,
        found.lifted,
        found.miscounted,
    )


def _bare_share(found: Fit, balls: Balls, branches: list[Branch]) -> float:
    """Share of the length of all branches that lies farther from the bones than the body is thick there."""
    size = float((balls.high - balls.low).max())
    share = np.linspace(0, 1, 8)[:, None]
    places, parents = found.places, found.template.parents
    bones = np.concatenate([places[p] + share * (places[k] - places[p]) for k, p in enumerate(parents) if p >= 0])
    bare, total = 0.0, 1e-12
    for branch in branches:
        at, radii = balls.centers[branch.balls], balls.radii[branch.balls]
        gap = np.linalg.norm(at[:, None] - bones[None], axis=2).min(axis=1)
        outside = gap > np.maximum(1.3 * radii, 0.04 * size)
        bare += branch.length * float(outside.mean())
        total += branch.length
    return bare / total


def _confidence(kind: BodyPlan, measures: Mapping[str, float]) -> float:
    """Share of a plan in the softmax of minus the measures."""
    plans = {form.name: form.plan for form in FORMS}
    odds = {name: np.exp(-value) for name, value in measures.items()}
    return float(sum(odd for name, odd in odds.items() if plans.get(name, name) == kind) / sum(odds.values()))


def is_symmetric(mesh: Mesh) -> bool:
    """True if the mirror image lies on the mesh, but for a few vertices."""
    from scipy.spatial import KDTree

    points = mesh.vertices[:: max(1, len(mesh.vertices) // 4000)]
    x = mesh.vertices[:, 0]
    image = points * [-1.0, 1.0, 1.0] + [x.min() + x.max(), 0.0, 0.0]
    gap = KDTree(mesh.vertices).query(image)[0]
    return bool(np.quantile(gap, 0.9) < SYMMETRIC * float(np.ptp(mesh.vertices, axis=0).max()))
