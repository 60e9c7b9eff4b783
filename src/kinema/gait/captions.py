"""Sentences for motions: many wordings, with and without a creature, words for speed and manner where they are true."""

import numpy as np

from kinema.gait.make import Label
from kinema.gait.pattern import TABLE

VERBS: dict[str, tuple[tuple[str, str], ...]] = {
    "walk": (
        ("walking", "walks"), ("walking along", "walks along"), ("strolling", "strolls"), ("ambling", "ambles"),
        ("taking a walk", "takes a walk"), ("walking forward", "walks forward"), ("wandering", "wanders"),
        ("going for a walk", "goes for a walk"), ("walking at an easy pace", "walks at an easy pace"),
        ("plodding", "plods"), ("pacing up the road on foot", "goes up the road on foot"), ("striding", "strides"),
        ("in a walk", "moves in a walk"), ("marching", "marches"), ("trudging", "trudges"),
        ("stepping forward calmly", "steps forward calmly"), ("roaming", "roams"), ("sauntering", "saunters"),
    ),
    "trot": (
        ("trotting", "trots"), ("trotting along", "trots along"), ("moving at a trot", "moves at a trot"),
        ("jogging on all fours", "jogs on all fours"), ("going at a brisk trot", "goes at a brisk trot"),
        ("in a lively trot", "breaks into a trot"), ("trotting briskly", "trots briskly"),
        ("in a two-beat gait with diagonal legs together", "moves its diagonal legs together"),
    ),
    "pace": (
        ("pacing", "paces"), ("in a pacing gait", "moves in a pacing gait"),
        ("ambling with both legs of a side together", "moves both legs of a side together"),
        ("pacing like a camel", "paces like a camel"), ("moving at a pace gait", "goes at the pace"),
        ("swinging its left legs and then its right legs", "swings its left legs and then its right legs"),
    ),
    "canter": (
        ("cantering", "canters"), ("in a gentle canter", "moves in a canter"), ("loping", "lopes"),
        ("cantering along", "canters along"), ("in a three-beat canter", "breaks into a canter"),
        ("loping easily", "lopes easily"), ("at an easy lope", "goes at a lope"),
    ),
    "gallop": (
        ("galloping", "gallops"), ("at full gallop", "goes at full gallop"), ("galloping away", "gallops away"),
        ("in a fast gallop", "breaks into a gallop"), ("charging at a gallop", "charges at a gallop"),
        ("racing at top speed", "races at top speed"), ("bolting", "bolts"), ("galloping ahead", "gallops ahead"),
    ),
    "run": (
        ("running", "runs"), ("running fast", "runs fast"), ("sprinting", "sprints"), ("running along", "runs along"),
        ("on the run", "is on the run"), ("dashing", "dashes"), ("running away", "runs away"), ("racing", "races"),
        ("rushing forward", "rushes forward"), ("running at speed", "runs at speed"), ("jogging", "jogs"),
        ("charging ahead", "charges ahead"), ("tearing along", "tears along"), ("going for a run", "goes for a run"),
    ),
    "hop": (
        ("hopping", "hops"), ("hopping along", "hops along"), ("bounding", "bounds"),
        ("bouncing along on both feet", "bounces along on both feet"), ("hopping forward", "hops forward"),
        ("bunny hopping", "bunny hops"), ("skipping along with feet together", "moves in hops"),
        ("leaping along hop by hop", "leaps along hop by hop"), ("hopping like a kangaroo", "hops like a kangaroo"),
    ),
    "sneak": (
        ("sneaking", "sneaks"), ("creeping", "creeps"), ("stalking its prey", "stalks its prey"),
        ("sneaking up on something", "sneaks up on something"), ("tiptoeing", "tiptoes"), ("prowling", "prowls"),
        ("creeping forward low to the ground", "creeps forward low to the ground"), ("slinking", "slinks"),
        ("moving stealthily", "moves stealthily"), ("crouching and sneaking", "sneaks in a crouch"),
    ),
    "limp": (
        ("limping", "limps"), ("limping along", "limps along"), ("hobbling", "hobbles"),
        ("walking with a limp", "walks with a limp"), ("walking with a hurt leg", "walks with a hurt leg"),
        ("favouring an injured leg", "favours an injured leg"), ("walking lame", "goes lame"),
        ("dragging an injured foot", "drags an injured foot"),
    ),
    "turn_left": (
        ("turning left", "turns left"), ("walking in a curve to the left", "walks in a curve to the left"),
        ("turning to the left", "turns to the left"), ("making a left turn", "makes a left turn"),
        ("walking and turning left", "walks and turns left"), ("circling to the left", "circles to the left"),
        ("going round to the left", "goes round to the left"), ("veering left", "veers left"),
    ),
    "turn_right": (
        ("turning right", "turns right"), ("walking in a curve to the right", "walks in a curve to the right"),
        ("turning to the right", "turns to the right"), ("making a right turn", "makes a right turn"),
        ("walking and turning right", "walks and turns right"), ("circling to the right", "circles to the right"),
        ("going round to the right", "goes round to the right"), ("veering right", "veers right"),
    ),
    "stand": (
        ("standing", "stands"), ("standing still", "stands still"), ("standing idle", "stands idle"),
        ("idling", "idles"), ("waiting", "waits"), ("not moving", "does not move"), ("resting on its feet", "rests"),
        ("standing in place", "stands in place"), ("staying where it is", "stays where it is"),
        ("breathing quietly", "breathes quietly"), ("motionless", "stays motionless"),
        ("in an idle pose", "idles in place"),
    ),
    "jump": (
        ("jumping", "jumps"), ("jumping up", "jumps up"), ("leaping into the air", "leaps into the air"),
        ("jumping once", "jumps once"), ("taking a big jump", "takes a big jump"), ("springing up", "springs up"),
        ("jumping and landing", "jumps and lands"), ("doing a jump", "does a jump"),
    ),
    "sit": (
        ("sitting down", "sits down"), ("taking a seat", "takes a seat"),
        ("lowering itself to sit", "lowers itself to sit"),
        ("sitting", "sits"), ("sitting down on the ground", "sits down on the ground"), ("going to sit", "goes to sit"),
        ("crouching down to sit", "crouches down to sit"), ("sitting on its haunches", "sits on its haunches"),
    ),
    "look": (
        ("looking around", "looks around"), ("looking left and right", "looks left and right"),
        ("turning its head from side to side", "turns its head from side to side"), ("watching out", "watches out"),
        ("scanning the surroundings", "scans the surroundings"), ("looking about", "looks about"),
        ("searching with its eyes", "searches with its eyes"), ("checking both sides", "checks both sides"),
    ),
    "wave": (
        ("waving", "waves"), ("waving hello", "waves hello"), ("waving goodbye", "waves goodbye"),
        ("raising a hand to greet", "raises a hand to greet"), ("waving a hand", "waves a hand"),
        ("waving a paw", "waves a paw"), ("greeting with a wave", "greets with a wave"),
        ("giving a wave", "gives a wave"),
    ),
    "kick": (
        ("kicking", "kicks"), ("giving a kick", "gives a kick"), ("kicking out", "kicks out"),
        ("kicking hard", "kicks hard"), ("striking with a foot", "strikes with a foot"),
        ("doing a kick", "does a kick"),
        ("lashing out with its legs", "lashes out with its legs"), ("kicking with force", "kicks with force"),
    ),
    "eat": (
        ("eating", "eats"), ("grazing", "grazes"), ("eating from the ground", "eats from the ground"),
        ("feeding", "feeds"), ("having a meal", "has a meal"), ("nibbling at food", "nibbles at food"),
        ("eating something", "eats something"), ("munching", "munches"),
        ("lowering its head to eat", "lowers its head to eat"),
    ),
}  # fmt: skip
"""Participle and third person."""

NOUNS = {
    "quadruped": ("dog", "fox", "wolf", "horse", "cat", "deer", "cow", "lion", "tiger", "bear", "pig", "donkey"),
    "biped": ("man", "woman", "person", "robot", "child", "knight", "dinosaur", "raptor", "cartoon character"),
    "bird": ("bird", "chicken", "ostrich", "duck", "crow", "goose"),
    "crawler": ("spider", "ant", "beetle", "insect", "crab"),
}  # fmt: skip
ALL_NOUNS = tuple(noun for group in NOUNS.values() for noun in group)
ANYTHING = ("animal", "creature", "character", "monster", "beast", "figure", "one")
SLOW = ("slowly", "leisurely", "at a slow pace", "lazily", "unhurriedly")
FAST = ("quickly", "fast", "at a fast pace", "hurriedly", "energetically", "in a hurry")


def caption(label: Label, rng: np.random.Generator) -> str:
    """One of many sentences for a motion."""
    choices = VERBS[label.name]
    doing, does = choices[int(rng.integers(len(choices)))]
    doing, does = _truth(label, rng, doing), _truth(label, rng, does)
    noun = _noun(label.body, rng)
    manner = "" if "pace" in doing or "speed" in doing or "fast" in doing else _manner(label, rng)
    form = rng.random()
    if form < 0.25:
        text = f"{noun} is {doing}{manner}"
    elif form < 0.5:
        text = f"{noun} {doing}{manner}"
    elif form < 0.72:
        text = f"{noun} {does}{manner}"
    elif form < 0.87:
        text = f"{doing}{manner}"
    elif form < 0.94:
        text = f"a video of {noun} {doing}{manner}"
    else:
        text = f"{noun} that is {doing}{manner}"
    if rng.random() < 0.15:
        text = text[0].upper() + text[1:] + "."
    return text


def _truth(label: Label, rng: np.random.Generator, phrase: str) -> str:
    """Say which side where the label knows it, now and then."""
    side = "left" if label.side > 0 else "right"
    if label.name == "limp" and rng.random() < 0.3:
        return phrase.replace("a hurt leg", f"a hurt {side} leg").replace("an injured leg", f"an injured {side} leg")
    if label.name == "wave" and rng.random() < 0.3:
        return phrase.replace("a hand", f"the {side} hand").replace("a paw", f"the {side} paw")
    return phrase


def _noun(body: str, rng: np.random.Generator) -> str:
    """A noun that fits the body, any other (it must not matter), or a word for anything."""
    draw = rng.random()
    if draw < 0.25:
        choices = ANYTHING
    elif draw < 0.75 and body in NOUNS:
        choices = NOUNS[body]
    else:
        choices = ALL_NOUNS
    noun = choices[int(rng.integers(len(choices)))]
    if noun == "one":
        return "it"
    article = ("the", "an" if noun[0] in "aeiou" else "a")[int(rng.random() < 0.75)]
    return f"{article} {noun}"


def _manner(label: Label, rng: np.random.Generator) -> str:
    """Slow and fast are told by the stride, compared with the usual one of the gait."""
    if label.period <= 0 or label.name not in TABLE or label.name in ("sneak", "gallop") or rng.random() < 0.4:
        return ""
    usual = float(np.sqrt(TABLE[label.name].froude)) * TABLE[label.name].pendulum
    stride = label.speed * label.period / usual
    if stride < 0.87:
        return " " + SLOW[int(rng.integers(len(SLOW)))]
    if stride > 1.13:
        return " " + FAST[int(rng.integers(len(FAST)))]
    return ""
