"""A verdict on a clip in one line: green, amber or red, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kinema.evaluate.amount import Amount
from kinema.gait.clip_names import STATES

Colour = Literal["green", "amber", "red"]
COLOURS: tuple[Colour, ...] = ("green", "amber", "red")


@dataclass(frozen=True)
class Bound:
    """Values of a metric that are good, and values that can be used."""

    good: float
    fair: float
    unit: float
    """What the value is multiplied by to be read."""
    words: str
    """What is wrong beyond the bound, with the value and the good one."""


BOUNDS = {
    "slide": Bound(0.03, 0.10, 100.0, "standing feet slide at {value} % of {speed} speed (good: up to {good})"),
    "hover": Bound(0.005, 0.02, 1000.0, "standing feet are {value} mm per metre of leg off the ground (good: {good})"),
    "penetration": Bound(0.003, 0.02, 100.0, "the body is {value} % of its height in the ground (good: up to {good})"),
    "hang": Bound(0.15, 0.4, 1.0, "for {value} s it hangs in the air, where nothing bears it (good: up to {good})"),
    "jerk": Bound(800.0, 2000.0, 1.0, "the motion jerks: {value} leg lengths per cycle³ (good: up to {good})"),
    "bone_change": Bound(0.005, 0.05, 100.0, "bones change their length by {value} % (good: up to {good})"),
}  # fmt: skip
SLOW = 0.3
"""Leg lengths per second of a very slow walk: who acts in place hardly travels, and slides relative to this."""
STILL_DEG = 14.0
"""Swing of the liveliest joint up to which nothing moves: a body that stands and breathes has 6 to 10, our own
motions have 18 at least (`joint_swings`)."""
HARDLY, WEAKLY = 0.25, 0.5
"""Share of its usual swing below which an action is hardly done, and below which it is weak."""
CALM = STATES | {"glide", "coast"}
"""Motions in which nothing need move."""
UNGROUNDED = frozenset(
    ["float", "hover", "coast", "fly", "glide", "flap", "swim", "swim_fast", "climb", "stairs", "ride", "drive"]
)
"""Motions in the air, in water or on something that is not there: nobody has to come down."""
FITS: dict[str, tuple[str, ...]] = {
    "walk": ("walk",), "sneak": ("walk",), "limp": ("walk", "other"), "trot": ("trot",), "pace": ("pace", "walk"),
    "canter": ("canter", "gallop"), "gallop": ("gallop", "canter"), "run": ("run", "gallop", "canter", "trot"),
    "hop": ("hop",), "stand": ("stand",), "jog": ("run", "trot"), "march": ("walk",), "shamble": ("walk",),
    "stagger": ("walk", "other"), "walk_back": ("walk",), "turn_left": ("walk",), "turn_right": ("walk",),
}  # fmt: skip
"""Gaits that a motion may be measured as; of a motion that is not listed nothing can be told."""

DOWN, HALFWAY = {"die": 0.5, "lie": 0.4}, 0.6
"""Motions that end on the ground, with the least share of its height that the body's middle loses, and the share of
that below which nobody fell. Artists' deaths lose 0.39 to 0.92 on 60 rigs, 0.77 in the median."""
BACKWARDS, RIPPLE = {"swim", "swim_fast", "slither", "slither_fast"}, 0.02
"""Motions whose wave pushes the body forward, and the swing of a tail from which on that is told [body lengths]."""
BEATS, WEAK_STROKE_DEG = {"fly", "hover"}, 25.0
"""Motions of wings, and the stroke below which they do not carry."""
MOVING = {*FITS} - {"hop", "stand"}
"""Gaits that may pass for each other."""


@dataclass(frozen=True)
class Verdict:
    """How good a clip is."""

    colour: Colour
    reason: str

    def __str__(self) -> str:
        return f"{self.colour}: {self.reason}"


def verdict(metrics: Mapping[str, Any], *, wanted: str | None = None, amount: Amount | None = None) -> Verdict:
    """Judge the metrics of a clip (`Metrics.as_dict()`), and what it does against the motion that was asked for.

    `amount` is how much of an action it shows, where that is known.
    """
    worst, faults = 0, []
    in_place = metrics.get("speed", SLOW) < SLOW
    for name, bound in BOUNDS.items():
        value = float(metrics.get(name, 0.0))
        if name == "slide" and in_place:
            value *= metrics["speed"] / SLOW
        # Jerk is counted per cycle; of a motion without one nothing is known to be usual.
        if value <= bound.good or (name == "jerk" and not metrics.get("period")):
            continue
        if name == "hang" and wanted in UNGROUNDED:
            continue
        worst = max(worst, 1 if value <= bound.fair else 2)
        shown = {"value": f"{bound.unit * value:.3g}", "good": f"{bound.unit * bound.good:g}"}
        faults.append(bound.words.format(**shown, speed="a slow walk's" if in_place else "the body's"))
    gait = metrics["gait"]
    if wanted in FITS and gait not in FITS[wanted]:
        worst = max(worst, 1 if {wanted, gait} <= MOVING else 2)
        faults.insert(0, f"it was to {wanted} and looks like {gait!r}")
    elif wanted is not None and wanted not in CALM and metrics["swing"] < STILL_DEG:
        worst, faults = 2, [f"it hardly moves: no joint turns by more than {metrics['swing']:.0f}°", *faults]
    elif wanted in BACKWARDS and metrics.get("wave_speed", 1.0) <= 0 and metrics["tail"] > RIPPLE:
        worst = max(worst, 1)
        faults.insert(0, f"it was to {wanted}, and the wave along its body runs forwards")
    elif wanted in BEATS and metrics.get("wing_stroke", 180.0) < WEAK_STROKE_DEG:
        worst = max(worst, 1)
        faults.insert(0, f"it was to {wanted}, and its wings beat by {metrics['wing_stroke']:.0f}° only")
    elif amount is not None and amount.share < WEAKLY:
        worst = max(worst, 2 if amount.share < HARDLY else 1)
        swings = f"joints that should turn by {amount.usual_deg:.0f}° turn by {amount.swing_deg:.0f}°"
        faults.insert(
            0, f"it {'hardly' if amount.share < HARDLY else 'only weakly'} does what was asked ({wanted}): {swings}"
        )
    if wanted in DOWN and (sunk := metrics.get("sunk", 1.0)) < DOWN[wanted]:
        worst = max(worst, 1 if sunk >= HALFWAY * DOWN[wanted] else 2)
        faults.insert(
            0, f"it was to {wanted}, and its body ends at {100 * (1 - sunk):.0f} % of its height "
            f"(good: up to {100 * (1 - DOWN[wanted]):.0f})",
        )  # fmt: skip
    fine = "feet, ground and time" if "slide" in metrics else "bones and time"
    return Verdict(COLOURS[worst], "; ".join(faults) or f"{fine} are within what is good")


def good_values() -> dict[str, str]:
    """What a reader may hold the metrics against, by name."""
    return {name: f"≤ {bound.good:g}" for name, bound in BOUNDS.items()} | {
        "periodic": "≥ 0.9 (gaits)", "symmetry": "≥ 0.8 (gaits)", "penetration_worst": "≤ 0.01",
    }  # fmt: skip
