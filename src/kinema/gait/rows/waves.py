"""Gaits of bodies that swim, slither or fly: one row each."""

from kinema.gait import snake_actions
from kinema.gait.kinds import MotionKind, Wave, WingBeat, verbs

UNDULATIONS = (
    MotionKind("swim", {"fish": 5, "snake": 0.7}, verbs("""
        swim[ming|s], swim[ming|s] along, swim[ming|s] through the water, swim[ming|s] forward, [gliding|swims] by with
        beats of its tail, swim[ming|s] calmly, paddl[ing|es] through the sea, swim[ming|s] around
        """),
        Wave(pendulum=4.2, stride=2.2, waves=0.9, amplitude=0.085)),
    MotionKind("swim_fast", {"fish": 2, "snake": 0.3}, verbs("""
        swim[ming|s] fast, dart[ing|s] through the water, swim[ming|s] at full speed, shoot[ing|s] through the water,
        rac[ing|es] through the sea, flee[ing|s] through the water, swim[ming|s] away quickly
        """),
        Wave(pendulum=2.2, stride=2.8, waves=1.0, amplitude=0.12, fins=0.1), tells_haste=False),
    MotionKind("coast", {"fish": 1}, verbs("""
        glid[ing|es] through the water, coast[ing|s], drift[ing|s] through the water, drift[ing|s],
        float[ing|s] in the water, hover[ing|s] in the water, glid[ing|es] underwater
        """),
        Wave(pendulum=6.0, stride=1.2, waves=0.8, amplitude=0.02, fins=0.35), tells_haste=False),
    MotionKind("slither", {"snake": 5}, verbs("""
        slither[ing|s], slither[ing|s] along, slither[ing|s] over the ground, wind[ing|s] its way forward,
        snak[ing|es] along, crawl[ing|s] on its belly, wriggl[ing|es] forward, glid[ing|es] over the ground
        """),
        Wave(pendulum=5.0, stride=2.1, waves=1.6, amplitude=0.85, on_track=True)),
    MotionKind("slither_fast", {"snake": 2}, verbs("""
        slither[ing|s] fast, slither[ing|s] away quickly, dart[ing|s] over the ground, rush[ing|es] along on its belly,
        flee[ing|s] in curves, slither[ing|s] at full speed
        """),
        Wave(pendulum=2.6, stride=2.8, waves=1.2, amplitude=0.65, on_track=True), tells_haste=False),
    MotionKind("rise", {"snake": 1.2}, verbs("""
        rais[ing|es] its head, rear[ing|s] up its head, ris[ing|es] like a cobra, lift[ing|s] its head off the ground,
        ris[ing|es] up to strike, rais[ing|es] the front of its body
        """), action=snake_actions.rise),
    MotionKind("coil", {"snake": 1}, verbs("""
        coil[ing|s] up, curl[ing|s] up, roll[ing|s] itself up, coil[ing|s] its body, wind[ing|s] itself into a coil,
        curl[ing|s] into a spiral
        """), action=snake_actions.coil),
)  # fmt: skip
FLIGHTS = (
    MotionKind("fly", {"bird": 3, "winged": 3}, verbs("""
        fl[ying|ies], fl[ying|ies] along, flap[ping|s] its wings, beat[ing|s] its wings, soar[ing|s] with strong
        wing beats, fl[ying|ies] through the air, fl[ying|ies] forward, [in flight|is on the wing]
        """),
        WingBeat(pendulum=3.4, stride=5.0, amplitude=0.85, fold=0.8, height=0.5, bob=0.12)),
    MotionKind("glide", {"bird": 1, "winged": 1}, verbs("""
        glid[ing|es], glid[ing|es] through the air, soar[ing|s], sail[ing|s] on outstretched wings,
        hover[ing|s] on still wings, soar[ing|s] on the wind, glid[ing|es] with spread wings
        """),
        WingBeat(pendulum=7.0, stride=7.0, amplitude=0.10, fold=0.0, height=0.7, bob=0.04), tells_haste=False),
    MotionKind("hover", {"bird": 0.7, "winged": 0.7}, verbs("""
        hover[ing|s] in the air, flap[ping|s] in place, flutter[ing|s] on the spot, hover[ing|s] in place,
        beat[ing|s] its wings in place, tread[ing|s] air
        """),
        WingBeat(pendulum=2.8, stride=0.0, amplitude=1.0, fold=0.6, height=0.4, bob=0.14, pitch=-0.5),
        tells_haste=False),
)  # fmt: skip
