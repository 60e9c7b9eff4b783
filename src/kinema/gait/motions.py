"""The table of motions: one row per gait or action. An action's row names its function in `actions.py`.

The order is the order in which training data and the prompt classifier count them: add rows at the end.
"""

from kinema.errors import KinemaError
from kinema.gait import actions
from kinema.gait.kinds import Footfalls, Gait, MotionKind
from kinema.gait.vocabulary import verbs

# Lateral sequence: hind left, front left, hind right, front right.
WALK = Footfalls((0.0, 0.5, 0.75, 0.25), wave=-0.04)
GALLOP = Footfalls((0.0, 0.12, 0.55, 0.67))


def _turn(side: str, angle: float) -> MotionKind:
    text = """
        turn[ing|s] left, walk[ing|s] in a curve to the left, turn[ing|s] to the left, mak[ing|es] a left turn,
        walk[ing|s] and turn[ing|s] left, circl[ing|es] to the left, go[ing|es] round to the left, veer[ing|s] left
        """.replace("left", side)
    gait = Gait(WALK, duty=0.64, froude=0.09, pendulum=3.6, lift=0.12, bob=0.012, tail=0.35, turn=angle)
    return MotionKind(f"turn_{side}", {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 1}, verbs(text), gait)


ROWS = (
    MotionKind("walk", {"quadruped": 4, "biped": 4, "bird": 4, "crawler": 4}, verbs("""
        walk[ing|s], walk[ing|s] along, stroll[ing|s], ambl[ing|es], tak[ing|es] a walk, walk[ing|s] forward,
        wander[ing|s], go[ing|es] for a walk, walk[ing|s] at an easy pace, plod[ding|s],
        [pacing|goes] up the road on foot, strid[ing|es], [|moves ]in a walk, march[ing|es], trudg[ing|es],
        step[ping|s] forward calmly, roam[ing|s], saunter[ing|s]
        """),
        Gait(WALK, duty=0.64, froude=0.13, pendulum=3.6, lift=0.11, bob=0.012, bob_two_legs=1.6,
             sway=(0.03, 0.015, 0.015), nod=0.06, tail=0.35, arm_swing=0.38, elbow=0.25)),
    MotionKind("trot", {"quadruped": 3}, verbs("""
        trot[ting|s], trot[ting|s] along, mov[ing|es] at a trot, jog[ging|s] on all fours, go[ing|es] at a brisk trot,
        [in a lively|breaks into a] trot, trot[ting|s] briskly,
        [in a two-beat gait with|moves its] diagonal legs together
        """),
        Gait(Footfalls((0.0, 0.5, 0.5, 0.0)), duty=0.46, froude=0.5, pendulum=2.4, lift=0.16, bob=-0.03)),
    MotionKind("pace", {"quadruped": 1}, verbs("""
        pac[ing|es], [|moves ]in a pacing gait, [ambling with|moves] both legs of a side together,
        pac[ing|es] like a camel, [moving at a pace gait|goes at the pace],
        swing[ing|s] its left legs and then its right legs
        """),
        Gait(Footfalls((0.0, 0.5, 0.0, 0.5)), duty=0.48, froude=0.45, pendulum=2.5, lift=0.15, bob=-0.025,
             sway=0.045)),
    MotionKind("canter", {"quadruped": 1}, verbs("""
        canter[ing|s], [in a gentle|moves in a] canter, lop[ing|es], canter[ing|s] along,
        [in a three-beat|breaks into a] canter, lop[ing|es] easily, [at an easy|goes at a] lope
        """),
        # With the left lead: right hind alone, the diagonal together, left front alone.
        Gait(Footfalls((0.0, 0.70, 0.70, 0.42)), duty=0.40, froude=1.0, pendulum=2.4, lift=0.18, bob=-0.035,
             sway=0.0, nod=0.10, nods=1.0)),
    MotionKind("gallop", {"quadruped": 3}, verbs("""
        gallop[ing|s], [|goes ]at full gallop, gallop[ing|s] away, [in a fast|breaks into a] gallop,
        charg[ing|es] at a gallop, rac[ing|es] at top speed, bolt[ing|s], gallop[ing|s] ahead
        """),
        Gait(GALLOP, duty=0.28, froude=2.4, pendulum=2.1, lift=0.22, bob=-0.045, sway=0.0, lean=0.0,
             crouch=0.03, nod=0.12, nods=1.0, head_down=(0.0, 0.15, 0.0)), tells_haste=False),
    MotionKind("run", {"quadruped": 2, "biped": 4, "bird": 4, "crawler": 2}, verbs("""
        run[ning|s], run[ning|s] fast, sprint[ing|s], run[ning|s] along, [|is ]on the run, dash[ing|es],
        run[ning|s] away, rac[ing|es], rush[ing|es] forward, run[ning|s] at speed, jog[ging|s], charg[ing|es] ahead,
        tear[ing|s] along, go[ing|es] for a run
        """),
        Gait(GALLOP, duty=0.34, froude=1.2, pendulum=2.3, lift=0.24, bob=-0.04, bob_two_legs=1.6, lean=0.16,
             crouch=0.02, nod=0.08, nods=(2.0, 1.0, 2.0), head_down=(0.0, 0.15, 0.0), arm_swing=0.75, elbow=1.35)),
    MotionKind("hop", {"quadruped": 2, "biped": 3, "bird": 3, "crawler": 0.5}, verbs("""
        hop[ping|s], hop[ping|s] along, bound[ing|s], bounc[ing|es] along on both feet, hop[ping|s] forward,
        bunny hop[ping|s], [skipping along with feet together|moves in hops], leap[ing|s] along hop by hop,
        hop[ping|s] like a kangaroo
        """),
        Gait(Footfalls((0.0, 0.0, 0.45, 0.45), lag=0.0), duty=0.38, froude=0.4, pendulum=2.6, lift=0.10, bob=-0.12,
             sway=0.0, elbow=0.9)),
    MotionKind("stand", {"quadruped": 3, "biped": 3, "bird": 3, "crawler": 2}, verbs("""
        stand[ing|s], stand[ing|s] still, stand[ing|s] idle, idl[ing|es], wait[ing|s], [not moving|does not move],
        rest[ing on its feet|s], stand[ing|s] in place, stay[ing|s] where it is, breath[ing|es] quietly,
        [|stays ]motionless, [in an idle pose|idles in place]
        """)),
    MotionKind("sneak", {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 0.5}, verbs("""
        sneak[ing|s], creep[ing|s], stalk[ing|s] its prey, sneak[ing|s] up on something, tiptoe[ing|s], prowl[ing|s],
        creep[ing|s] forward low to the ground, slink[ing|s], mov[ing|es] stealthily,
        [crouching and sneaking|sneaks in a crouch]
        """),
        Gait(WALK, duty=0.74, froude=0.04, pendulum=5.5, lift=0.14, bob=0.008, sway=(0.035, 0.0175, 0.0175),
             lean=0.28, crouch=0.14, heel=0.25, nod=0.02, head_down=(-0.15, 0.30, -0.15), tail=0.35,
             arm_swing=0.15, elbow=0.9), tells_haste=False),
    MotionKind("limp", {"quadruped": 1, "biped": 1, "bird": 1}, verbs("""
        limp[ing|s], limp[ing|s] along, hobbl[ing|es], walk[ing|s] with a limp, walk[ing|s] with a hurt leg,
        favour[ing|s] an injured leg, [walking|goes] lame, drag[ging|s] an injured foot
        """),
        Gait(WALK, duty=0.64, froude=0.08, pendulum=4.0, lift=0.10, bob=0.012, sway=(0.045, 0.0225, 0.0225),
             heel=0.3, nod=0.16, nods=1.0, arm_swing=0.22, lame=True),
        sided=(("a hurt leg", "a hurt {side} leg"), ("an injured leg", "an injured {side} leg"))),
    _turn("left", 0.75),
    _turn("right", -0.75),
    MotionKind("jump", {"quadruped": 1, "biped": 1, "bird": 1}, verbs("""
        jump[ing|s], jump[ing|s] up, leap[ing|s] into the air, jump[ing|s] once, tak[ing|es] a big jump,
        spring[ing|s] up, jump[ing|s] and land[ing|s], do[ing|es] a jump
        """), action=actions.jump, airborne=True),
    MotionKind("sit", {"quadruped": 1, "biped": 1, "bird": 1}, verbs("""
        sit[ting|s] down, tak[ing|es] a seat, lower[ing|s] itself to sit, sit[ting|s], sit[ting|s] down on the ground,
        go[ing|es] to sit, crouch[ing|es] down to sit, sit[ting|s] on its haunches
        """), action=actions.sit),
    MotionKind("look", {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 0.5}, verbs("""
        look[ing|s] around, look[ing|s] left and right, turn[ing|s] its head from side to side, watch[ing|es] out,
        scan[ning|s] the surroundings, look[ing|s] about, search[ing|es] with its eyes, check[ing|s] both sides
        """), action=actions.look),
    MotionKind("kick", {"quadruped": 0.7, "biped": 1, "bird": 0.7}, verbs("""
        kick[ing|s], giv[ing|es] a kick, kick[ing|s] out, kick[ing|s] hard, strik[ing|es] with a foot,
        do[ing|es] a kick, lash[ing|es] out with its legs, kick[ing|s] with force
        """), action=actions.kick),
    MotionKind("eat", {"quadruped": 1, "biped": 0.5, "bird": 1.5}, verbs("""
        eat[ing|s], graz[ing|es], eat[ing|s] from the ground, feed[ing|s], ha[ving|s] a meal, nibbl[ing|es] at food,
        eat[ing|s] something, munch[ing|es], lower[ing|s] its head to eat
        """), action=actions.eat),
    MotionKind("wave", {"quadruped": 0.5, "biped": 1}, verbs("""
        wav[ing|es], wav[ing|es] hello, wav[ing|es] goodbye, rais[ing|es] a hand to greet, wav[ing|es] a hand,
        wav[ing|es] a paw, greet[ing|s] with a wave, giv[ing|es] a wave
        """), action=actions.wave, sided=(("a hand", "the {side} hand"), ("a paw", "the {side} paw"))),
)  # fmt: skip
MOTIONS: dict[str, MotionKind] = {row.name: row for row in ROWS}


def find_motion(name: str) -> MotionKind:
    """The row of that name."""
    if name not in MOTIONS:
        raise KinemaError(f"motion {name!r}: not one of {', '.join(MOTIONS)}")
    return MOTIONS[name]
