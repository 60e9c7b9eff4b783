"""Gaits of bodies with legs: one row each."""

import numpy as np

from kinema.gait.kinds import Footfalls, Gait, MotionKind, verbs

# Lateral sequence: hind left, front left, hind right, front right.
WALK = Footfalls((0.0, 0.5, 0.75, 0.25), wave=-0.04)
GALLOP = Footfalls((0.0, 0.12, 0.55, 0.67))


def _turn(side: str, angle: float) -> MotionKind:
    text = """
        turn[ing|s] left, walk[ing|s] in a curve to the left, turn[ing|s] to the left, mak[ing|es] a left turn,
        walk[ing|s] and turn[ing|s] left, circl[ing|es] to the left, go[ing|es] round to the left, veer[ing|s] left
        """.replace("left", side)
    shares = {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 1, "winged": 0.4}
    gait = Gait(WALK, duty=0.64, froude=0.09, pendulum=3.6, lift=0.12, bob=0.012, tail=0.35, turn=angle)
    return MotionKind(f"turn_{side}", shares, verbs(text), gait)


GAITS = (
    MotionKind("walk", {"quadruped": 4, "biped": 4, "bird": 4, "crawler": 4, "winged": 2.5}, verbs("""
        walk[ing|s], walk[ing|s] along, stroll[ing|s], ambl[ing|es], tak[ing|es] a walk, walk[ing|s] forward,
        wander[ing|s], go[ing|es] for a walk, walk[ing|s] at an easy pace, plod[ding|s],
        [pacing|goes] up the road on foot, strid[ing|es], [|moves ]in a walk, march[ing|es], trudg[ing|es],
        step[ping|s] forward calmly, roam[ing|s], saunter[ing|s]
        """),
        Gait(WALK, duty=0.64, froude=0.13, pendulum=3.6, lift=(0.03, 0.11, 0.11), bob=0.012, bob_two_legs=1.6, 
             heel=(0.37, 0.35, 0.35),
             sway=(0.03, 0.015, 0.015), nod=(0.04, 0.10, 0.06), tail=0.55, arm_swing=0.32, elbow=0.3)),
    MotionKind("trot", {"quadruped": 3, "winged": 0.6}, verbs("""
        trot[ting|s], trot[ting|s] along, mov[ing|es] at a trot, jog[ging|s] on all fours, go[ing|es] at a brisk trot,
        [in a lively|breaks into a] trot, trot[ting|s] briskly,
        [in a two-beat gait with|moves its] diagonal legs together
        """),
        Gait(Footfalls((0.0, 0.5, 0.5, 0.0)), duty=0.46, froude=0.5, pendulum=2.4, lift=0.16, bob=-0.03, flick=0.5)),
    MotionKind("pace", {"quadruped": 1}, verbs("""
        pac[ing|es], [|moves ]in a pacing gait, [ambling with|moves] both legs of a side together,
        pac[ing|es] like a camel, [moving at a pace gait|goes at the pace],
        swing[ing|s] its left legs and then its right legs
        """),
        Gait(Footfalls((0.0, 0.5, 0.0, 0.5)), duty=0.48, froude=0.45, pendulum=2.5, lift=0.15, bob=-0.025,
             sway=0.045, flick=0.5)),
    MotionKind("canter", {"quadruped": 1, "winged": 0.3}, verbs("""
        canter[ing|s], [in a gentle|moves in a] canter, lop[ing|es], canter[ing|s] along,
        [in a three-beat|breaks into a] canter, lop[ing|es] easily, [at an easy|goes at a] lope
        """),
        # With the left lead: right hind alone, the diagonal together, left front alone.
        Gait(Footfalls((0.0, 0.70, 0.70, 0.42)), duty=0.40, froude=1.0, pendulum=2.4, lift=0.18, bob=-0.035,
             sway=0.0, nod=0.10, nods=1.0, spine=0.3, flick=0.5)),
    MotionKind("gallop", {"quadruped": 3, "winged": 0.6}, verbs("""
        gallop[ing|s], [|goes ]at full gallop, gallop[ing|s] away, [in a fast|breaks into a] gallop,
        charg[ing|es] at a gallop, rac[ing|es] at top speed, bolt[ing|s], gallop[ing|s] ahead
        """),
        Gait(GALLOP, duty=0.28, froude=2.4, pendulum=2.1, lift=0.22, bob=-0.045, sway=0.0, lean=0.0,
             crouch=0.03, nod=0.12, nods=1.0, head_down=(0.0, 0.15, 0.0), spine=0.45, flick=0.5), tells_haste=False),
    MotionKind("run", {"quadruped": 2, "biped": 4, "bird": 4, "crawler": 2, "winged": 1.2}, verbs("""
        run[ning|s], run[ning|s] fast, sprint[ing|s], run[ning|s] along, [|is ]on the run, dash[ing|es],
        run[ning|s] away, rac[ing|es], rush[ing|es] forward, run[ning|s] at speed, jog[ging|s], charg[ing|es] ahead,
        tear[ing|s] along, go[ing|es] for a run
        """),
        Gait(GALLOP, duty=0.34, froude=1.2, pendulum=2.3, lift=(0.11, 0.24, 0.24), bob=-0.04, bob_two_legs=1.6,
             lean=0.16, spine=(0.16, 0.4, 0.03), flick=(0.35, 0.5, 0.5), crouch=0.02, nod=0.08,
             nods=(2.0, 1.0, 2.0), head_down=(0.0, 0.15, 0.0), arm_swing=0.6, elbow=1.3)),
    MotionKind("hop", {"quadruped": 2, "biped": 3, "bird": 3, "crawler": 0.5, "winged": 0.2}, verbs("""
        hop[ping|s], hop[ping|s] along, bound[ing|s], bounc[ing|es] along on both feet, hop[ping|s] forward,
        bunny hop[ping|s], [skipping along with feet together|moves in hops], leap[ing|s] along hop by hop,
        hop[ping|s] like a kangaroo
        """),
        Gait(Footfalls((0.0, 0.0, 0.45, 0.45), lag=0.0), duty=0.38, froude=0.4, pendulum=2.6, lift=0.10, bob=-0.12,
             sway=0.0, elbow=0.9, flick=0.5, spine=0.25)),
    MotionKind("sneak", {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 0.5, "winged": 0.4}, verbs("""
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
    MotionKind("walk_back", {"quadruped": 0.7, "biped": 1, "bird": 0.4, "crawler": 0.5, "winged": 0.3}, verbs("""
        walk[ing|s] backwards, back[ing|s] away, mov[ing|es] backwards, back[ing|s] up, step[ping|s] back,
        retreat[ing|s] backwards, walk[ing|s] in reverse, go[ing|es] backwards
        """),
        Gait(WALK, duty=0.68, froude=0.04, pendulum=4.0, lift=(0.07, 0.12, 0.12), bob=0.01, heel=0.2, flick=0.0,
             lean=0.0, sway=(0.03, 0.015, 0.015), arm_swing=0.15, direction=np.pi)),
    MotionKind("sidle", {"quadruped": 0.5, "biped": 1, "bird": 0.3, "crawler": 2}, verbs("""
        walk[ing|s] sideways, sidl[ing|es], sidestep[ping|s], mov[ing|es] sideways, step[ping|s] sideways,
        shuffl[ing|es] sideways, straf[ing|es], scuttl[ing|es] sideways, crab walk[ing|s]
        """),
        Gait(WALK, duty=0.66, froude=0.016, pendulum=3.4, lift=(0.07, 0.10, 0.14), bob=0.01, heel=0.05, flick=0.0,
             lean=0.0, spine=0.02, sway=(0.02, 0.01, 0.01), arm_swing=0.06, direction=np.pi / 2)),
)  # fmt: skip
