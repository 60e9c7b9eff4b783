"""What a motion is, as data: a `MotionKind` is one row of the table in `motions.py`, a `Gait` the numbers of a cycle.

Speeds come from the Froude number v² / (g L), which animals of all sizes share for a gait (Alexander 1989), and stride
frequencies from the pendulum √(g / L).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kinema.gait.plan import FootPlan, GaitBody
from kinema.motion.motion import GRAVITY
from kinema.rig.limbs import Leg

ByLegs = float | tuple[float, float, float]
"""One value for all bodies, or values for two legs, for four and for any other number."""


def by_legs(values: ByLegs, legs: int) -> float:
    """The value for that number of legs."""
    return values[{2: 0, 4: 1}.get(legs, 2)] if isinstance(values, tuple) else values


@dataclass(frozen=True)
class Footfalls:
    """Times of touchdown as fractions of the cycle; the reference leg (front left) touches down at 0."""

    four: tuple[float, float, float, float]
    """Two pairs of legs: front left, front right, hind left, hind right."""
    lag: float = 0.5
    """One pair, or three and more: time between neighbouring legs. Half a cycle alternates (tripods on six legs)."""
    wave: float = 0.0
    """Three pairs and more: additional time from each pair to the one behind it; negative waves run forward."""

    @property
    def symmetrical(self) -> bool:
        """On four legs, the right foot of a pair follows half a cycle after the left (Hildebrand 1965)."""
        return self.four[1] == 0.5

    @property
    def together(self) -> bool:
        """Neighbouring legs touch down at once: hops."""
        return self.lag == 0.0

    def touchdowns(self, legs: tuple[Leg, ...]) -> tuple[float, ...]:
        """Time of touchdown of each leg."""
        if max((leg.rank for leg in legs), default=0) == 1:
            return tuple(self.four[2 * leg.rank + (leg.side < 0)] for leg in legs)
        return tuple((self.lag * ((leg.rank + (leg.side < 0)) % 2) + self.wave * leg.rank) % 1.0 for leg in legs)


@dataclass(frozen=True)
class Gait:
    """A cycle of steps; lengths in leg lengths, angles in radians."""

    footfalls: Footfalls
    duty: float
    """Fraction of the cycle that a foot is on the ground."""
    froude: float
    """v² / (g L)."""
    pendulum: float
    """Period over √(L / g)."""
    lift: ByLegs
    """Height of a swinging foot."""
    bob: float
    """Vertical amplitude of the trunk; positive: highest in mid-stance (walks)."""
    bob_two_legs: float = 1.0
    """Factor on `bob` for two legs."""
    sway: ByLegs = (0.018, 0.009, 0.009)
    """Lateral amplitude of the trunk; 0: it does not roll and yaw either."""
    lean: float = 0.03
    """Forward lean of two legs."""
    crouch: float = 0.0
    """Lowers the trunk."""
    heel: ByLegs = (0.55, 0.35, 0.35)
    """Heel pitch at the end of stance."""
    flick: ByLegs = (0.1, 0.25, 0.25)
    """How much farther the heel pitches early in swing."""
    nod: ByLegs = (0.03, 0.06, 0.03)
    """Amplitude of the head's pitch."""
    nods: ByLegs = 2.0
    """Nods per cycle."""
    head_down: ByLegs = 0.0
    """Mean pitch of the neck."""
    tail: float = 0.4
    """Amplitude of the tail's yaw; of its pitch in canters and gallops."""
    spine: ByLegs = (0.09, 0.07, 0.03)
    """Amplitude of the yaw of hips and shoulders; of the back's pitch in canters and gallops."""
    arm_swing: float = 0.3
    elbow: float = 0.3
    """Mean bend of the elbows."""
    direction: float = 0.0
    """Where the body goes, seen from where it faces [rad]: π backwards, π/2 sideways (to `Style.side`)."""
    turn: float = 0.0
    """Change of heading per cycle, + to the left."""
    lame: bool = False
    """The front leg of `Style.side` is spared: it stands for a shorter time and the head nods away from it."""

    def period(self, leg_length: float) -> float:
        """Typical duration of a cycle [s]."""
        return float(self.pendulum * np.sqrt(leg_length / GRAVITY))

    def speed(self, leg_length: float) -> float:
        """Typical speed [leg lengths per second]."""
        return float(np.sqrt(self.froude * GRAVITY / leg_length))

    def heads(self, style: "Style") -> float:
        """Direction of travel in that style [rad], + to the left: sideways is to the style's side."""
        return self.direction * style.side

    @property
    def stride(self) -> float:
        """Typical travel per cycle [leg lengths]."""
        return float(np.sqrt(self.froude)) * self.pendulum


@dataclass(frozen=True)
class Wave:
    """A wave that runs from head to tail of a body without legs; lengths in its unit (`Limbs.leg_length`)."""

    pendulum: float
    """Period over √(unit / g)."""
    stride: float
    """Typical travel per cycle."""
    waves: float
    """Waves on the length of the body."""
    amplitude: float
    """How far the tail swings to one side [body lengths]; on a track, how far it turns from straight ahead [rad]."""
    head: float = 0.2
    """Amplitude at the nose, relative to the tail's."""
    fins: float = 0.25
    """Amplitude of the fins' beat [rad]."""
    on_track: bool = False
    """Every part follows the one before on a winding track and does not slip, as snakes do."""

    def period(self, unit: float) -> float:
        """Typical duration of a cycle [s]."""
        return float(self.pendulum * np.sqrt(unit / GRAVITY))

    def speed(self, unit: float) -> float:
        """Typical speed [units per second]."""
        return self.stride / self.period(unit)

    def heads(self, style: "Style") -> float:
        """Direction of travel [rad]: straight ahead."""
        return 0.0


@dataclass(frozen=True)
class WingBeat:
    """A cycle of flight; it begins when the wings are highest. Lengths in leg lengths."""

    pendulum: float
    """Period over √(leg length / g)."""
    stride: float
    """Typical travel per cycle."""
    amplitude: float
    """How far the wings beat up and down [rad]."""
    fold: float
    """How far the wings fold on the upstroke, 0 to 1."""
    height: float
    """How high the body flies above where it stands; higher, where the wings would beat the ground."""
    bob: float = 0.08
    """How far the body rises in a downstroke."""
    pitch: float = 0.0
    """Nose down [rad]."""

    def period(self, unit: float) -> float:
        """Typical duration of a cycle [s]."""
        return float(self.pendulum * np.sqrt(unit / GRAVITY))

    def speed(self, unit: float) -> float:
        """Typical speed [leg lengths per second]."""
        return self.stride / self.period(unit)

    def heads(self, style: "Style") -> float:
        """Direction of travel [rad]: straight ahead."""
        return 0.0


@dataclass(frozen=True)
class Style:
    """Factors on what a motion does by default, drawn at random for variety."""

    lift: float = 1.0
    bob: float = 1.0
    sway: float = 1.0
    width: float = 1.0
    duty: float = 1.0
    heel: float = 1.0
    nod: float = 1.0
    tail: float = 1.0
    arms: float = 1.0
    crouch: float = 0.0
    """Lowers the trunk [leg lengths]."""
    lean: float = 0.0
    """Nose down [rad]."""
    head: float = 0.0
    """Head down [rad]."""
    lag: float = 0.0
    """Delays touchdowns of the hind legs [cycles]."""
    spine: float = 1.0
    side: int = 1
    """The side that leads, limps, waves or kicks."""

    @staticmethod
    def random(rng: np.random.Generator) -> "Style":
        def around(spread: float) -> float:
            return float(np.exp(rng.normal(0.0, spread)))

        return Style(
            lift=around(0.22), bob=around(0.35), sway=around(0.35), width=float(rng.uniform(0.85, 1.08)),
            duty=float(rng.uniform(0.94, 1.06)), heel=around(0.2), nod=around(0.4), tail=around(0.5),
            arms=around(0.25), crouch=float(rng.uniform(0.0, 0.05)), lean=float(rng.normal(0.0, 0.03)),
            head=float(rng.normal(0.0, 0.08)), lag=float(rng.normal(0.0, 0.012)),
            side=1 if rng.random() < 0.5 else -1, spine=around(0.35),
        )  # fmt: skip


Action = Callable[[GaitBody, FootPlan, np.ndarray, Style], None]
"""Changes the plan of a standing body; the array is the time since the middle of the action, per frame [s]."""


LIKE = {"winged": "quadruped"}
"""Kinds of body that walk as another does."""


@dataclass(frozen=True)
class MotionKind:
    """One motion: how it is made, who does it and what it is called. Without a gait and an action it is standing."""

    name: str
    shares: Mapping[str, float | int]
    """Weight in the training data by kind of body (`Limbs.body`); kinds that are not listed are never drawn."""
    verbs: tuple[tuple[str, str], ...]
    """Captions: participle and third person."""
    gait: Gait | Wave | WingBeat | None = None
    """What repeats: steps, a wave along the body, or the beat of wings. A body that lacks the limbs only breathes."""
    action: Action | None = None
    """What happens once."""
    airborne: bool = False
    """The action leaves the ground: its middle is its highest point, and it may go forward."""
    tells_haste: bool = True
    """Captions of a gait say "slowly" and "quickly" where the stride is short or long."""
    sided: tuple[tuple[str, str], ...] = ()
    """Captions: phrases and what may stand for them, with {side} for left or right."""

    def share(self, body: str) -> float:
        """Weight in the training data for a kind of body (`Limbs.body`)."""
        return float(max(self.shares.get(kind, 0.0) for kind in (body, LIKE.get(body, body))))

    @property
    def repeats(self) -> bool:
        return self.gait is not None

    @property
    def aloft(self) -> bool:
        """The body flies or swims: no foot stands, whatever it could stand on."""
        return isinstance(self.gait, WingBeat) or (isinstance(self.gait, Wave) and not self.gait.on_track)

    @property
    def still(self) -> bool:
        """The body does nothing but breathe."""
        return self.gait is None and self.action is None


def verbs(text: str) -> tuple[tuple[str, str], ...]:
    """Participle and third person of each phrase: "trot[ting|s] along" is "trotting along" and "trots along"."""
    phrases = [" ".join(phrase.split()) for phrase in text.split(",")]
    forms = ([re.sub(r"\[(.*?)\|(.*?)\]", group, phrase) for phrase in phrases] for group in (r"\1", r"\2"))
    return tuple(zip(*forms))
