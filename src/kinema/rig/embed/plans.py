"""Body plans that a bare mesh is compared with: trees of points, the built-in species that show where they lie."""

from dataclasses import dataclass
from typing import Literal

BodyPlan = Literal["biped", "quadruped", "bird", "winged", "hexapod", "octopod", "crab", "fish", "ray", "snake", "tree"]
"""Kinds of body; `snake` and `tree` have no template but follow the mesh (`branches`)."""
Links = tuple[tuple[str, str], ...]
"""Names of points, each with its parent's; those that end in `_end` are tips, the others joints."""
SIDES = ("left", "right")


@dataclass(frozen=True)
class Form:
    """One form of a body plan: its points, and the species and shapes that it is measured on."""

    plan: BodyPlan
    name: str
    links: Links
    species: tuple[str, ...]
    unit: str
    """The side of the box ("x", "y" or "z") that is the unit of each coordinate: "yyy" is in heights."""
    shapes: tuple[tuple[str, float], ...] = ()
    """Fields of a row that are multiplied, such as ("head.radius", 2.0)."""
    free: tuple[str, ...] = ()
    """Words in the names of points that are modelled in any direction: of their bones only the length counts."""
    hidden: tuple[str, ...] = ()
    """Words in the names of points that need not be ends of the body: wings that are folded."""


def _chain(names: str, parent: str) -> Links:
    """A chain of points below a parent: "upper lower foot"."""
    words = names.split()
    return tuple(zip(words, (parent, *words)))


def _both(names: str, parent: str) -> Links:
    """A chain on each side; "*" stands for left and right."""
    return tuple(link for side in SIDES for link in _chain(names.replace("*", side), parent))


_SPINE = (("hips", ""), *_chain("spine chest neck head head_end", "hips"))
_LEGS = _both("*_leg_upper *_leg_lower *_leg_foot *_leg_end", "hips")
_ARMS = _both("*_arm_upper *_arm_lower *_hand *_hand_end", "chest")
_WINGS = _both("*_wing_upper *_wing_lower *_wing_hand *_wing_end", "chest")
_TAIL = _chain("tail_1 tail_2 tail_3 tail_end", "hips")
_HIND = _both("hind_*_upper hind_*_lower hind_*_foot hind_*_end", "hips")
_FRONT = _both("front_*_upper front_*_lower front_*_foot front_*_end", "chest")
_PERSON = (*_SPINE, *_LEGS, *_ARMS)
_BEAST = (*_SPINE, *_HIND, *_FRONT, *_TAIL)
_FISH = (("body", ""), *_chain("head head_end", "body"), *_chain("tail_1 tail_2 tail_3 tail_4 tail_end", "body"))


def _insect(pairs: str, back: Links) -> Links:
    """A thorax with a head, something behind, and pairs of legs."""
    legs = [_both(f"{p}_*_upper {p}_*_lower {p}_*_foot {p}_*_end", "thorax") for p in pairs.split()]
    return (("thorax", ""), *_chain("head head_end", "thorax"), *back, *(link for leg in legs for link in leg))


_ABDOMEN = _chain("abdomen abdomen_end", "thorax")
_PEOPLE = ("human", "astronaut", "robot")
_BEASTS = (
    "dog", "cat", "fox", "wolf", "horse", "zebra", "deer", "cow", "pig", "elephant", "giraffe", "camel", "bear",
    "panda", "lion", "tiger", "rabbit", "mouse",
)  # fmt: skip
FORMS: tuple[Form, ...] = (
    Form("biped", "biped", _PERSON, _PEOPLE, "yyy", free=("arm", "hand")),
    Form("biped", "chibi biped", _PERSON, _PEOPLE, "yyy", (("head.radius", 2.1), ("leg", 0.62)), ("arm", "hand")),
    Form("biped", "big-headed biped", _PERSON, _PEOPLE, "yyy", (("head.radius", 3.3), ("leg", 0.42)), ("arm", "hand")),
    Form("biped", "tailed biped", (*_PERSON, *_TAIL), ("t-rex", "raptor", "kangaroo"), "yyz", free=("arm", "hand")),
    Form("quadruped", "quadruped", _BEAST, _BEASTS, "xyz"),
    Form("quadruped", "short-legged quadruped", _BEAST, _BEASTS, "xyz", (("leg", 0.6), ("head.radius", 1.5))),
    Form("quadruped", "stub-legged quadruped", _BEAST, _BEASTS, "xyz",
         (("leg", 0.3), ("head.radius", 2.0), ("neck.length", 0.4))),
    Form("quadruped", "long-necked quadruped", _BEAST, ("lion", "tiger", "cow", "horse", "camel"), "xyz",
         (("neck.length", 2.6), ("tail.length", 2.4), ("leg", 0.75), ("tail.base", 2.0))),
    Form("quadruped", "sprawling quadruped", _BEAST, ("lizard", "crocodile"), "xyz"),
    Form("bird", "bird with open wings", (*_SPINE, *_LEGS, *_WINGS, *_chain("tail_1 tail_end", "hips")),
         ("crow", "pigeon", "eagle", "seagull", "parrot", "owl"), "xyz"),
    Form("bird", "bird with folded wings", (*_SPINE, *_LEGS, *_WINGS, *_chain("tail_1 tail_end", "hips")),
         ("chicken", "duck", "crow", "pigeon", "eagle", "seagull", "parrot", "owl"), "yyz", (("front.chord", 0.0),),
         hidden=("wing", "tail")),
    Form("winged", "winged quadruped", (*_BEAST, *_WINGS), ("dragon", "pegasus", "griffin"), "xyz"),
    Form("hexapod", "hexapod", _insect("front middle hind", _ABDOMEN), ("ant", "beetle"), "xyz"),
    Form("octopod", "octopod", _insect("front second third hind", _ABDOMEN), ("spider",), "xyz"),
    Form("crab", "crab", (*_insect("front second third hind", ()),
         *_both("*_arm_upper *_arm_lower *_arm_claw *_arm_end", "thorax")), ("crab",), "xyz"),
    Form("fish", "fish", (*_FISH, *_both("*_fin_upper *_fin_lower *_fin_end", "body")),
         ("fish", "goldfish", "trout", "tuna", "clownfish", "shark", "swordfish", "dolphin", "orca", "whale"), "yyz"),
    Form("ray", "ray", (("body", ""), *_chain("head head_end", "body"),
         *_chain("tail_1 tail_2 tail_3 tail_end", "body"),
         *_both("*_fin_upper *_fin_middle *_fin_tip *_fin_end", "body")),
         ("manta", "stingray", "turtle"), "xyz"),
)  # fmt: skip
"""All forms; the cheapest that fits is taken."""


def roles_of(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Names of joints by role, as the names of the points above tell them: the top of each limb."""

    def tops(*endings: str) -> tuple[str, ...]:
        return tuple(name for name in names if name.endswith(endings))

    legs = tops("leg_upper") + tuple(
        n for n in tops("_upper") if n.startswith(("hind", "front", "middle", "second", "third"))
    )
    return {
        "legs": legs, "arms": tops("arm_upper"), "wings": tops("wing_upper"), "fins": tops("fin_upper"),
        "tails": tuple(name for name in names if name == "tail_1"), "heads": tuple(n for n in names if n == "head"),
    }  # fmt: skip
