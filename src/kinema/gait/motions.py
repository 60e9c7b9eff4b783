"""The table of motions: one row per gait or action. An action's row names its function in `actions.py`.

The order is the order in which training data and the prompt classifier count them: add rows at the end.
"""

from kinema.errors import KinemaError
from kinema.gait import actions
from kinema.gait.kinds import Footfalls, Gait, MotionKind


def verbs(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs out of "walking / walks, strolling / strolls"."""
    pairs = (" ".join(pair.split()).partition(" / ") for pair in text.split(","))
    return tuple((doing, does) for doing, _, does in pairs)


# Lateral sequence: hind left, front left, hind right, front right.
WALK = Footfalls((0.0, 0.5, 0.75, 0.25), wave=-0.04)
GALLOP = Footfalls((0.0, 0.12, 0.55, 0.67))


def _turn(side: str, angle: float) -> MotionKind:
    text = """
        turning left / turns left, walking in a curve to the left / walks in a curve to the left,
        turning to the left / turns to the left, making a left turn / makes a left turn,
        walking and turning left / walks and turns left, circling to the left / circles to the left,
        going round to the left / goes round to the left, veering left / veers left
    """
    return MotionKind(
        f"turn_{side}",
        {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 1},
        verbs(text.replace("left", side)),
        Gait(WALK, duty=0.64, froude=0.09, pendulum=3.6, lift=0.12, bob=0.012, tail=0.35, turn=angle),
    )


ROWS = (
    MotionKind(
        "walk",
        {"quadruped": 4, "biped": 4, "bird": 4, "crawler": 4},
        verbs("""
            walking / walks, walking along / walks along, strolling / strolls, ambling / ambles,
            taking a walk / takes a walk, walking forward / walks forward, wandering / wanders,
            going for a walk / goes for a walk, walking at an easy pace / walks at an easy pace, plodding / plods,
            pacing up the road on foot / goes up the road on foot, striding / strides, in a walk / moves in a walk,
            marching / marches, trudging / trudges, stepping forward calmly / steps forward calmly, roaming / roams,
            sauntering / saunters
        """),
        Gait(WALK, duty=0.64, froude=0.13, pendulum=3.6, lift=0.11, bob=0.012, bob_two_legs=1.6,
             sway=(0.03, 0.015, 0.015), nod=0.06, tail=0.35, arm_swing=0.38, elbow=0.25),
    ),
    MotionKind(
        "trot",
        {"quadruped": 3},
        verbs("""
            trotting / trots, trotting along / trots along, moving at a trot / moves at a trot,
            jogging on all fours / jogs on all fours, going at a brisk trot / goes at a brisk trot,
            in a lively trot / breaks into a trot, trotting briskly / trots briskly,
            in a two-beat gait with diagonal legs together / moves its diagonal legs together
        """),
        Gait(Footfalls((0.0, 0.5, 0.5, 0.0)), duty=0.46, froude=0.5, pendulum=2.4, lift=0.16, bob=-0.03),
    ),
    MotionKind(
        "pace",
        {"quadruped": 1},
        verbs("""
            pacing / paces, in a pacing gait / moves in a pacing gait,
            ambling with both legs of a side together / moves both legs of a side together,
            pacing like a camel / paces like a camel, moving at a pace gait / goes at the pace,
            swinging its left legs and then its right legs / swings its left legs and then its right legs
        """),
        Gait(Footfalls((0.0, 0.5, 0.0, 0.5)), duty=0.48, froude=0.45, pendulum=2.5, lift=0.15, bob=-0.025,
             sway=(0.045, 0.045, 0.045)),
    ),
    MotionKind(
        "canter",
        {"quadruped": 1},
        verbs("""
            cantering / canters, in a gentle canter / moves in a canter, loping / lopes,
            cantering along / canters along, in a three-beat canter / breaks into a canter,
            loping easily / lopes easily, at an easy lope / goes at a lope
        """),
        # With the left lead: right hind alone, the diagonal together, left front alone.
        Gait(Footfalls((0.0, 0.70, 0.70, 0.42)), duty=0.40, froude=1.0, pendulum=2.4, lift=0.18, bob=-0.035,
             sway=(0.0, 0.0, 0.0), nod=0.10, nods=(1, 1, 1)),
    ),
    MotionKind(
        "gallop",
        {"quadruped": 3},
        verbs("""
            galloping / gallops, at full gallop / goes at full gallop, galloping away / gallops away,
            in a fast gallop / breaks into a gallop, charging at a gallop / charges at a gallop,
            racing at top speed / races at top speed, bolting / bolts, galloping ahead / gallops ahead
        """),
        Gait(GALLOP, duty=0.28, froude=2.4, pendulum=2.1, lift=0.22, bob=-0.045, sway=(0.0, 0.0, 0.0), lean=0.0,
             crouch=0.03, nod=0.12, nods=(1, 1, 1), head_down=(0.0, 0.15, 0.0)),
        tells_haste=False,
    ),
    MotionKind(
        "run",
        {"quadruped": 2, "biped": 4, "bird": 4, "crawler": 2},
        verbs("""
            running / runs, running fast / runs fast, sprinting / sprints, running along / runs along,
            on the run / is on the run, dashing / dashes, running away / runs away, racing / races,
            rushing forward / rushes forward, running at speed / runs at speed, jogging / jogs,
            charging ahead / charges ahead, tearing along / tears along, going for a run / goes for a run
        """),
        Gait(GALLOP, duty=0.34, froude=1.2, pendulum=2.3, lift=0.24, bob=-0.04, bob_two_legs=1.6, lean=0.16,
             crouch=0.02, nod=0.08, nods=(2, 1, 2), head_down=(0.0, 0.15, 0.0), arm_swing=0.75, elbow=1.35),
    ),
    MotionKind(
        "hop",
        {"quadruped": 2, "biped": 3, "bird": 3, "crawler": 0.5},
        verbs("""
            hopping / hops, hopping along / hops along, bounding / bounds,
            bouncing along on both feet / bounces along on both feet, hopping forward / hops forward,
            bunny hopping / bunny hops, skipping along with feet together / moves in hops,
            leaping along hop by hop / leaps along hop by hop, hopping like a kangaroo / hops like a kangaroo
        """),
        Gait(Footfalls((0.0, 0.0, 0.45, 0.45), lag=0.0), duty=0.38, froude=0.4, pendulum=2.6, lift=0.10, bob=-0.12,
             sway=(0.0, 0.0, 0.0), elbow=0.9),
    ),
    MotionKind(
        "stand",
        {"quadruped": 3, "biped": 3, "bird": 3, "crawler": 2},
        verbs("""
            standing / stands, standing still / stands still, standing idle / stands idle, idling / idles,
            waiting / waits, not moving / does not move, resting on its feet / rests,
            standing in place / stands in place, staying where it is / stays where it is,
            breathing quietly / breathes quietly, motionless / stays motionless, in an idle pose / idles in place
        """),
    ),
    MotionKind(
        "sneak",
        {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 0.5},
        verbs("""
            sneaking / sneaks, creeping / creeps, stalking its prey / stalks its prey,
            sneaking up on something / sneaks up on something, tiptoeing / tiptoes, prowling / prowls,
            creeping forward low to the ground / creeps forward low to the ground, slinking / slinks,
            moving stealthily / moves stealthily, crouching and sneaking / sneaks in a crouch
        """),
        Gait(WALK, duty=0.74, froude=0.04, pendulum=5.5, lift=0.14, bob=0.008, sway=(0.035, 0.0175, 0.0175),
             lean=0.28, crouch=0.14, heel=(0.25, 0.25, 0.25), nod=0.02, head_down=(-0.15, 0.30, -0.15), tail=0.35,
             arm_swing=0.15, elbow=0.9),
        tells_haste=False,
    ),
    MotionKind(
        "limp",
        {"quadruped": 1, "biped": 1, "bird": 1},
        verbs("""
            limping / limps, limping along / limps along, hobbling / hobbles, walking with a limp / walks with a limp,
            walking with a hurt leg / walks with a hurt leg, favouring an injured leg / favours an injured leg,
            walking lame / goes lame, dragging an injured foot / drags an injured foot
        """),
        Gait(WALK, duty=0.64, froude=0.08, pendulum=4.0, lift=0.10, bob=0.012, sway=(0.045, 0.0225, 0.0225),
             heel=(0.3, 0.3, 0.3), nod=0.16, nods=(1, 1, 1), arm_swing=0.22, lame=True),
        sided=(("a hurt leg", "a hurt {side} leg"), ("an injured leg", "an injured {side} leg")),
    ),
    _turn("left", 0.75),
    _turn("right", -0.75),
    MotionKind(
        "jump",
        {"quadruped": 1, "biped": 1, "bird": 1},
        verbs("""
            jumping / jumps, jumping up / jumps up, leaping into the air / leaps into the air,
            jumping once / jumps once, taking a big jump / takes a big jump, springing up / springs up,
            jumping and landing / jumps and lands, doing a jump / does a jump
        """),
        action=actions.jump,
        airborne=True,
    ),
    MotionKind(
        "sit",
        {"quadruped": 1, "biped": 1, "bird": 1},
        verbs("""
            sitting down / sits down, taking a seat / takes a seat, lowering itself to sit / lowers itself to sit,
            sitting / sits, sitting down on the ground / sits down on the ground, going to sit / goes to sit,
            crouching down to sit / crouches down to sit, sitting on its haunches / sits on its haunches
        """),
        action=actions.sit,
    ),
    MotionKind(
        "look",
        {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 0.5},
        verbs("""
            looking around / looks around, looking left and right / looks left and right,
            turning its head from side to side / turns its head from side to side, watching out / watches out,
            scanning the surroundings / scans the surroundings, looking about / looks about,
            searching with its eyes / searches with its eyes, checking both sides / checks both sides
        """),
        action=actions.look,
    ),
    MotionKind(
        "kick",
        {"quadruped": 0.7, "biped": 1, "bird": 0.7},
        verbs("""
            kicking / kicks, giving a kick / gives a kick, kicking out / kicks out, kicking hard / kicks hard,
            striking with a foot / strikes with a foot, doing a kick / does a kick,
            lashing out with its legs / lashes out with its legs, kicking with force / kicks with force
        """),
        action=actions.kick,
    ),
    MotionKind(
        "eat",
        {"quadruped": 1, "biped": 0.5, "bird": 1.5},
        verbs("""
            eating / eats, grazing / grazes, eating from the ground / eats from the ground, feeding / feeds,
            having a meal / has a meal, nibbling at food / nibbles at food, eating something / eats something,
            munching / munches, lowering its head to eat / lowers its head to eat
        """),
        action=actions.eat,
    ),
    MotionKind(
        "wave",
        {"quadruped": 0.5, "biped": 1},
        verbs("""
            waving / waves, waving hello / waves hello, waving goodbye / waves goodbye,
            raising a hand to greet / raises a hand to greet, waving a hand / waves a hand, waving a paw / waves a paw,
            greeting with a wave / greets with a wave, giving a wave / gives a wave
        """),
        action=actions.wave,
        sided=(("a hand", "the {side} hand"), ("a paw", "the {side} paw")),
    ),
)  # fmt: skip
MOTIONS: dict[str, MotionKind] = {row.name: row for row in ROWS}


def find_motion(name: str) -> MotionKind:
    """The row of that name."""
    if name not in MOTIONS:
        raise KinemaError(f"motion {name!r}: not one of {', '.join(MOTIONS)}")
    return MOTIONS[name]
