"""Actions and standing: one row each. A row names its function."""

from kinema.gait import actions, animal_actions, people_actions, rest
from kinema.gait.kinds import MotionKind, verbs

ACTIONS = (
    MotionKind("stand", {"quadruped": 3, "biped": 3, "bird": 3, "crawler": 2, "winged": 1.5, "snake": 1}, verbs("""
        stand[ing|s], stand[ing|s] still, stand[ing|s] idle, idl[ing|es], wait[ing|s], [not moving|does not move],
        rest[ing on its feet|s], stand[ing|s] in place, stay[ing|s] where it is, breath[ing|es] quietly,
        [|stays ]motionless, [in an idle pose|idles in place]
        """)),
    MotionKind("jump", {"quadruped": 1, "biped": 1, "bird": 1, "winged": 0.3}, verbs("""
        jump[ing|s], jump[ing|s] up, leap[ing|s] into the air, jump[ing|s] once, tak[ing|es] a big jump,
        spring[ing|s] up, jump[ing|s] and land[ing|s], do[ing|es] a jump
        """), action=actions.jump, airborne=True),
    MotionKind("sit", {"quadruped": 1, "biped": 1, "bird": 1, "winged": 0.4}, verbs("""
        sit[ting|s] down, tak[ing|es] a seat, lower[ing|s] itself to sit, sit[ting|s], sit[ting|s] down on the ground,
        go[ing|es] to sit, crouch[ing|es] down to sit, sit[ting|s] on its haunches
        """), action=actions.sit),
    MotionKind("look", {"quadruped": 1, "biped": 1, "bird": 1, "crawler": 0.5, "winged": 0.5}, verbs("""
        look[ing|s] around, look[ing|s] left and right, turn[ing|s] its head from side to side, watch[ing|es] out,
        scan[ning|s] the surroundings, look[ing|s] about, search[ing|es] with its eyes, check[ing|s] both sides
        """), action=actions.look),
    MotionKind("kick", {"quadruped": 0.7, "biped": 1, "bird": 0.7}, verbs("""
        kick[ing|s], giv[ing|es] a kick, kick[ing|s] out, kick[ing|s] hard, strik[ing|es] with a foot,
        do[ing|es] a kick, lash[ing|es] out with its legs, kick[ing|s] with force
        """), action=actions.kick),
    MotionKind("eat", {"quadruped": 1, "biped": 0.5, "bird": 1.5, "winged": 0.3}, verbs("""
        eat[ing|s], graz[ing|es], eat[ing|s] from the ground, feed[ing|s], ha[ving|s] a meal, nibbl[ing|es] at food,
        eat[ing|s] something, munch[ing|es], lower[ing|s] its head to eat
        """), action=actions.eat),
    MotionKind("wave", {"quadruped": 0.5, "biped": 1}, verbs("""
        wav[ing|es], wav[ing|es] hello, wav[ing|es] goodbye, rais[ing|es] a hand to greet, wav[ing|es] a hand,
        wav[ing|es] a paw, greet[ing|s] with a wave, giv[ing|es] a wave
        """), action=actions.wave, sided=(("a hand", "the {side} hand"), ("a paw", "the {side} paw"))),
    MotionKind("wag", {"quadruped": 1.5, "bird": 0.3, "winged": 0.3}, verbs("""
        wag[ging|s] its tail, wag[ging|s], wag[ging|s] the tail happily, swing[ing|s] its tail from side to side,
        swish[ing|es] its tail, wiggl[ing|es] its tail, greet[ing|s] with a wagging tail
        """), action=animal_actions.wag),
    MotionKind("dig", {"quadruped": 1, "bird": 0.4, "winged": 0.2}, verbs("""
        dig[ging|s], dig[ging|s] a hole, dig[ging|s] in the ground, burrow[ing|s], scrap[ing|es] the ground with its
        paws, dig[ging|s] up the earth, scratch[ing|es] up the soil, paw[ing|s] at the ground
        """), action=animal_actions.dig),
    MotionKind("scratch", {"quadruped": 1, "biped": 0.7}, verbs("""
        scratch[ing|es] itself, scratch[ing|es], scratch[ing|es] an itch, scratch[ing|es] its ear,
        scratch[ing|es] its head, scratch[ing|es] behind the ear, rub[bing|s] its neck with a paw
        """), action=animal_actions.scratch),
    MotionKind("shake", {"quadruped": 1, "bird": 0.5, "biped": 0.4, "winged": 0.3}, verbs("""
        shak[ing|es] itself, shak[ing|es], shak[ing|es] off water, shak[ing|es] itself dry, shak[ing|es] its fur,
        shak[ing|es] its whole body, shak[ing|es] like a wet dog
        """), action=animal_actions.shake),
    MotionKind("lie", {"quadruped": 1, "biped": 0.8, "bird": 0.5, "crawler": 0.3, "winged": 0.5}, verbs("""
        l[ying|ies] down, lay[ing|s] itself down, go[ing|es] to lie down, settl[ing|es] down on the ground,
        lower[ing|s] itself to the ground, lay[ing|s] down to rest, stretch[ing|es] out on the ground
        """), action=rest.lie),
    MotionKind("get_up", {"quadruped": 0.8, "biped": 0.8, "bird": 0.3, "winged": 0.4}, verbs("""
        get[ting|s] up, stand[ing|s] up, ris[ing|es] to its feet, get[ting|s] to its feet, ris[ing|es] from the ground,
        get[ting|s] up from the ground, get[ting|s] back up
        """), action=rest.get_up),
    MotionKind("sleep", {"quadruped": 0.8, "biped": 0.5, "bird": 0.3, "winged": 0.5, "snake": 0.3}, verbs("""
        sleep[ing|s], tak[ing|es] a nap, [lying|lies] asleep, nap[ping|s], snooz[ing|es], slumber[ing|s],
        sleep[ing|s] soundly, doz[ing|es]
        """), action=rest.sleep),
    MotionKind("howl", {"quadruped": 0.8, "biped": 0.2, "winged": 0.2}, verbs("""
        howl[ing|s], howl[ing|s] at the moon, bay[ing|s], howl[ing|s] with its head thrown back, yowl[ing|s],
        rais[ing|es] its head to howl
        """), action=animal_actions.howl),
    MotionKind("roar", {"quadruped": 0.8, "biped": 0.6, "bird": 0.3, "winged": 1}, verbs("""
        roar[ing|s], let[ting|s] out a roar, roar[ing|s] loudly, bellow[ing|s], scream[ing|s], growl[ing|s] loudly,
        roar[ing|s] fiercely, shriek[ing|s]
        """), action=animal_actions.roar),
    MotionKind("bite", {"quadruped": 1, "bird": 0.4, "crawler": 0.5, "biped": 0.2, "winged": 0.7, "fish": 0.5},
        verbs("""
        bit[ing|es], lung[ing|es] and bit[ing|es], snap[ping|s], snap[ping|s] with its jaws, attack[ing|s] with its
        teeth, bit[ing|es] hard, lung[ing|es] forward, snap[ping|s] at something
        """), action=animal_actions.bite),
    MotionKind("headbutt", {"quadruped": 0.8, "biped": 0.3, "winged": 0.2}, verbs("""
        headbutt[ing|s], ram[ming|s] with its head, butt[ing|s], butt[ing|s] with its head, butt[ing|s] with its horns,
        charg[ing|es] with lowered head, giv[ing|es] a headbutt
        """), action=animal_actions.headbutt),
    MotionKind("rear", {"quadruped": 0.8, "winged": 0.4}, verbs("""
        rear[ing|s], rear[ing|s] up, rear[ing|s] up on its hind legs, ris[ing|es] on its hind legs,
        stand[ing|s] on its hind legs, rear[ing|s] and paw[ing|s] the air
        """), action=animal_actions.rear),
    MotionKind("buck", {"quadruped": 0.7}, verbs("""
        buck[ing|s], buck[ing|s] wildly, throw[ing|s] up its hind legs, buck[ing|s] like a bronco,
        kick[ing|s] up its heels, arch[ing|es] its back and buck[ing|s]
        """), action=animal_actions.buck),
    MotionKind("claw", {"quadruped": 0.8, "biped": 0.4, "crawler": 0.4, "winged": 0.5}, verbs("""
        claw[ing|s], swip[ing|es] with a paw, swip[ing|es], strik[ing|es] with its claws, slash[ing|es] with its claws,
        swat[ting|s] with a paw, lash[ing|es] out with a paw, claw[ing|s] at something
        """), action=animal_actions.claw, sided=(("a paw", "the {side} paw"),)),
    MotionKind("drink", {"quadruped": 0.8, "biped": 0.5, "bird": 0.8}, verbs("""
        drink[ing|s], drink[ing|s] water, tak[ing|es] a drink, lap[ping|s] up water, sip[ping|s], ha[ving|s] a drink,
        drink[ing|s] from a pond
        """), action=animal_actions.drink),
    MotionKind("bow", {"biped": 1, "quadruped": 0.3, "bird": 0.3}, verbs("""
        bow[ing|s], tak[ing|es] a bow, bow[ing|s] politely, bow[ing|s] deeply, bend[ing|s] forward in a bow,
        bow[ing|s] to the audience
        """), action=people_actions.bow),
    MotionKind("cheer", {"biped": 1}, verbs("""
        cheer[ing|s], celebrat[ing|es], throw[ing|s] both arms up, rais[ing|es] both arms in victory, rejoic[ing|es],
        cheer[ing|s] loudly, jubilat[ing|es]
        """), action=people_actions.cheer),
    MotionKind("clap", {"biped": 1}, verbs("""
        clap[ping|s], applaud[ing|s], clap[ping|s] its hands, giv[ing|es] applause, clap[ping|s] along,
        put[ting|s] its hands together in applause
        """), action=people_actions.clap),
    MotionKind("point", {"biped": 1}, verbs("""
        point[ing|s], point[ing|s] ahead, point[ing|s] at something, point[ing|s] with an arm, show[ing|s] the way,
        point[ing|s] a finger
        """), action=people_actions.point, sided=(("an arm", "the {side} arm"),)),
    MotionKind("punch", {"biped": 1}, verbs("""
        punch[ing|es], throw[ing|s] a punch, strik[ing|es] with a fist, box[ing|es], giv[ing|es] a punch, jab[bing|s],
        punch[ing|es] hard, hit[ting|s] with a fist
        """), action=people_actions.punch, sided=(("a fist", "the {side} fist"),)),
)  # fmt: skip
