"""Which part is a leg, an arm, a wing or a fin: evidence of shape, place and names, added up as log-odds.

Every part to one side of the middle plane gets a score for each role; mirror partners share theirs, and a softmax of
the scores is the confidence. Shape and place weigh more than names: the fore legs of many rigs are called arms, the
arms of many dinosaurs legs. What hangs on the head or is small (ears, eyes, a sword) has no role.
"""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.geometry.rotations import ancestors
from kinema.rig.tree import JointTree

ROLES = ("leg", "arm", "wing", "fin", "none")
LEG, ARM, WING, FIN, NONE = range(len(ROLES))
WORDS = {
    NONE: re.compile(
        r"(?<![a-z])ear(?!th)|(?<![a-z])[lr]ear|(left|right|inner|outer)ear|eye|brow|lid|lash|horn|antler|whisker|teeth|tooth|mouth|jaw"
        r"|cheek|lip(?!p)|nose|tongue|hair|pony|braid|hat(?![a-z])|cape|cloak|skirt|robe|cloth|belt|bag|pack|sword|weapon"
        r"|shield|(?<![a-z])gun|blade|prop(?![a-z])|breast|boob|tail|head|耳|目|髪"
    ),
    FIN: re.compile(r"flipper|fin(?!g)|pectoral|ひれ"),
    WING: re.compile(r"wing|feather|翼|羽"),
    ARM: re.compile(
        r"(?<![a-z])arm|[a-z]arm(?![a-z])|arm[_.\d]|clav|collar|shoulder|hand|elbow|wrist|finger|thumb|palm|fist|index"
        r"|pinky|pincer|claw|腕|手|(?<![a-z])bras|brazo"
    ),
    LEG: re.compile(
        r"leg|thigh|calf|shin|knee|foot|feet|toe|ankle|hoof|paw|femur|tibia|hock|足|bein(?![a-z])|jambe|pierna"
    ),
}
"""Names of joints by role; the first that matches counts."""
HEAD = re.compile(r"head(?!top|_?(end|tip|leaf|nub))|kopf|cabeza|(?<![a-z])t[eê]te|頭")
TRUNK = re.compile(
    r"spine|torso|chest|abdomen|body|hip|pelvis|waist|(?<![a-z])back(?!pack)|belly|stomach|root|backpack|bag|cape"
)
TAIL = re.compile(r"(?<!pony)tail|schwanz|(?<![a-z])cola(?![a-z])|尻尾|しっぽ")
GROUND = 0.03
"""Height up to which a part surely stands [body heights]."""
NAME_WEIGHTS = np.array([2.0, 2.0, 4.0, 4.0, 5.0])
"""Log-odds of a part whose joints are all named after a role: arms and legs are mixed up, wings and ears are not."""
DOUBT = 0.65
"""Confidence in a role that only names are for."""
Scores = Float[np.ndarray, "roles"]


@dataclass(frozen=True)
class Part:
    """A part of the body to one side of the middle plane."""

    top: int
    shown: Scores
    """Log-odds of each of `ROLES` by shape and place."""
    told: Scores
    """The same by names."""

    @property
    def role(self) -> int:
        return int((self.shown + self.told).argmax())

    def confidence(self, role: int) -> float:
        """Probability of the role; at most DOUBT where names overrule what shape and place say."""
        scores = self.shown + self.told
        odds = np.exp(scores - scores.max())
        share = float(odds[role] / odds.sum())
        overruled = int(self.shown.argmax())
        if self.role in (NONE, overruled) or role not in (self.role, overruled):
            return share
        return float(np.clip(share, 1 - DOUBT, DOUBT))


def find_parts(tree: JointTree, heads: list[int]) -> list[Part]:
    """The parts to either side with their roles; `heads` are the joints that carry one."""
    shapes = [_Shape(tree, top, heads) for top in tree.limb_tops]
    standing = [shape for shape in shapes if shape.low < 0.07]
    support, leg = _support(tree, standing), float(np.median([shape.reach for shape in standing] or [np.inf]))
    partners = tree.mirror_partners(tree.limb_tops)
    shown = _paired(np.array([_evidence(shape, support, leg) for shape in shapes]), partners)
    told = _paired(np.array([shape.named * NAME_WEIGHTS for shape in shapes]), partners)
    # Limbs come in pairs; what has no partner may be a thing in a hand.
    shown[[i for i, k in enumerate(partners) if i == k], NONE] += 1.0
    clear = (shown + told)[:, LEG] > np.delete(shown + told, LEG, axis=-1).max(-1) + 2.0
    # A body that nothing lifts off the ground, longer than it is tall, swims.
    shown[:, FIN] += -2.0 if clear.any() else 2.0 if tree.length > 1.4 * tree.height else 0.0
    if not clear.any():
        # Where nothing stands, shape alone hardly tells arms, wings and fins apart.
        shown[told.max(-1) == 0] *= 0.5
    return [Part(shape.top, *rows) for shape, *rows in zip(shapes, shown, told)]


def _paired(scores: np.ndarray, partners: list[int]) -> Float[np.ndarray, "parts roles"]:
    scores = scores.reshape(-1, len(ROLES))
    return (scores + scores[partners]) / 2


class _Shape:
    """What is measured of a part, in shares of the body's height and size."""

    def __init__(self, tree: JointTree, top: int, heads: list[int]):
        self.top, joints = top, tree.subtree(top)
        points, head = tree.carried(top), tree.heads[top]
        self.low = float(points[:, 1].min() - tree.floor) / tree.height
        self.root = float(head[1] - tree.floor) / tree.height
        self.reach = tree.reach(top) / tree.size
        self.share, self.joints = tree.share(joints), len(joints)
        away = points - head
        far = away[(away**2).sum(-1).argmax()]
        self.way = far / max(float(np.linalg.norm(far)), 1e-12)
        """Direction to its far end."""
        self.center = float(points[:, 1].mean())
        self.roundness = _roundness([tree.points[j] for j in joints])
        """Of its bones, one by one: a bent leg lies in a plane, but its bones are round."""
        self.sheet = min(self.roundness, (self.roundness + _roundness([points])) / 2)
        """The same with the whole: many slim feathers make a flat wing."""
        above = ancestors(tree.parents, top)
        carrier = next((h for h in heads if h in above or tree.parents[h] in above[:1]), None)
        # Ears may hang beside the head instead of on it; arms hang below it.
        over = carrier is not None and self.center > tree.heads[carrier][1] + (
            0.0 if carrier in above else 0.03 * tree.height
        )
        self.on_head = 5.0 if over else 2.5 if carrier in above else 0.0
        found = [next((role for role, word in WORDS.items() if word.search(tree.names[j])), None) for j in joints]
        self.named = np.array([found.count(role) / len(joints) for role in range(len(ROLES))])
        self.z = points[points[:, 1].argmin(), 2]


def _roundness(clouds: list[np.ndarray]) -> float:
    """Thickness over width of the parts of a limb: about 0.7 for a leg, 0.2 for a fin."""
    ratios, counts = [], []
    for points in clouds:
        if len(points) >= 8:
            spread = np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(points.T)), 0.0))
            ratios.append(spread[0] / max(float(spread[1]), 1e-12))
            counts.append(len(points))
    return float(np.average(ratios, weights=counts)) if ratios else 0.6


def _support(tree: JointTree, standing: list[_Shape]) -> float:
    """Log-odds that the parts that touch the ground carry the body: they hold its middle off the ground, above them."""
    if not standing:
        return 0.0
    carriers = {j for shape in standing for j in ancestors(tree.parents, shape.top)}
    trunk = np.concatenate([tree.points[j] for j in carriers])
    held = [tree.points[j] for j in range(len(tree.parents)) if len(tree.points[j])]
    balance = float(np.concatenate(held)[:, 2].mean())
    front, back = max(shape.z for shape in standing), min(shape.z for shape in standing)
    outside = max(balance - front, back - balance, 0.0) / tree.size
    lies = len(trunk) and float(np.quantile(trunk[:, 1], 0.02)) - tree.floor < 0.02 * tree.height
    return (1.5 if len(standing) >= 4 else 0.5) - (2.5 if lies else 0.0) - min(10.0 * outside, 2.0)


def _evidence(shape: _Shape, support: float, leg: float) -> Scores:
    """Log-odds of each role by shape and place; `leg` is the reach of what stands."""
    thin, flat = (float(np.clip((0.5 - x) / 0.15, -1.5, 1.5)) for x in (shape.roundness, shape.sheet))
    backward = float(np.clip((-shape.way[2] - 0.55) / 0.2, 0.0, 1.0))
    down = float(np.clip(-shape.way[1] / 0.5, -1.0, 1.0))
    ground = float(np.clip(3.0 - 60.0 * (shape.low - GROUND), -4.0, 3.0))
    lifted = 1.0 - (ground + 4.0) / 7.0
    small = float(np.clip((0.14 - shape.reach) / 0.03, -0.5, 2.0))
    # Fishes have their fins at the head.
    hung = shape.on_head if np.isfinite(leg) else 0.5 * shape.on_head
    scores = np.zeros(len(ROLES))
    long = float(np.clip((shape.reach / leg - 1.2) / 0.4, 0.0, 1.0))
    high = float(np.clip((shape.root - 0.6) / 0.12, -1.5, 1.5))
    short = float(np.clip((0.5 - shape.reach / leg) / 0.2, 0.0, 1.0))
    scores[LEG] = ground + support - thin + 0.7 * down - 2.0 * backward - 3.0 * short
    scores[ARM] = 0.5 + 1.5 * lifted - 0.5 * flat - 2.0 * backward + (0.5 if shape.joints > 1 else 0.0)
    scores[WING] = -1.0 + 1.5 * lifted + flat + 2.5 * backward + 0.5 * high + 1.5 * long
    scores[FIN] = -1.0 + flat + 2.0 * backward - high
    scores[NONE] = -1.0 + small + hung + (1.0 if shape.share < 0.004 else 0.0)
    return scores
