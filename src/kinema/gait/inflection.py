"""Forms of English verbs: participle, third person and past, by rule and by a list of exceptions."""

import re

_DOUBLED = """
    bar bat beg bet bid blot bob chat chop clap cut dig dip drag drop drum fan fit flap flip flop get grab gun
    hit hop hug hum jab jet jog jut knit knot lap let lob lug mop nap nip nod pat patrol peg pet pin plan plod
    plop plot plug pop prop put quit ram rap rid rip rob rub run scan scrub set shin ship shop shred shrug shut
    sin sip sit skid skim skip slam slap sled slip slug snap snip sob spin spit split spot spur squat stab step
    stir stop strip strum strut sun swap swat swig swim tag tan tap tip top tot trap trim trip trot tug unzip
    wag wed wet whip win wrap yap zap zigzag zip
"""
DOUBLED = frozenset(_DOUBLED.split())
"""Verbs that double their last letter: trot, trotting."""
PASTS = {
    "be": ("was", "been"), "bear": ("bore", "borne"), "beat": ("beat", "beaten"), "begin": ("began", "begun"),
    "bend": ("bent", "bent"), "bite": ("bit", "bitten"), "blow": ("blew", "blown"), "break": ("broke", "broken"),
    "bring": ("brought", "brought"), "build": ("built", "built"), "burst": ("burst", "burst"),
    "buy": ("bought", "bought"), "cast": ("cast", "cast"), "catch": ("caught", "caught"), "come": ("came", "come"),
    "creep": ("crept", "crept"), "cut": ("cut", "cut"), "deal": ("dealt", "dealt"), "dig": ("dug", "dug"),
    "do": ("did", "done"), "draw": ("drew", "drawn"), "drink": ("drank", "drunk"), "drive": ("drove", "driven"),
    "eat": ("ate", "eaten"), "fall": ("fell", "fallen"), "feed": ("fed", "fed"), "fight": ("fought", "fought"),
    "flee": ("fled", "fled"), "fling": ("flung", "flung"), "fly": ("flew", "flown"), "freeze": ("froze", "frozen"),
    "get": ("got", "got"), "give": ("gave", "given"), "go": ("went", "gone"), "have": ("had", "had"),
    "hit": ("hit", "hit"), "hold": ("held", "held"), "keep": ("kept", "kept"), "kneel": ("knelt", "knelt"),
    "lay": ("laid", "laid"), "leap": ("leapt", "leapt"), "leave": ("left", "left"), "let": ("let", "let"),
    "lie": ("lay", "lain"), "lose": ("lost", "lost"), "make": ("made", "made"), "meet": ("met", "met"),
    "put": ("put", "put"), "read": ("read", "read"), "ride": ("rode", "ridden"), "ring": ("rang", "rung"),
    "rise": ("rose", "risen"), "run": ("ran", "run"), "say": ("said", "said"), "set": ("set", "set"),
    "shake": ("shook", "shaken"), "shoot": ("shot", "shot"), "show": ("showed", "shown"), "sing": ("sang", "sung"),
    "sink": ("sank", "sunk"), "sit": ("sat", "sat"), "sleep": ("slept", "slept"), "slide": ("slid", "slid"),
    "slink": ("slunk", "slunk"), "speak": ("spoke", "spoken"), "spin": ("spun", "spun"), "split": ("split", "split"),
    "spread": ("spread", "spread"), "spring": ("sprang", "sprung"), "stand": ("stood", "stood"),
    "steal": ("stole", "stolen"), "strike": ("struck", "struck"), "stride": ("strode", "stridden"),
    "sweep": ("swept", "swept"), "swim": ("swam", "swum"), "swing": ("swung", "swung"), "take": ("took", "taken"),
    "tear": ("tore", "torn"), "tell": ("told", "told"), "throw": ("threw", "thrown"), "thrust": ("thrust", "thrust"),
    "tread": ("trod", "trodden"), "wake": ("woke", "woken"), "weave": ("wove", "woven"), "weep": ("wept", "wept"),
    "wear": ("wore", "worn"), "win": ("won", "won"), "wind": ("wound", "wound"), "write": ("wrote", "written"),
}  # fmt: skip
"""Past tense and past participle of the irregular verbs."""


def participle(verb: str) -> str:
    """The form in -ing: trotting, lying, making, fleeing."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("ic"):
        return verb + "king"
    if _doubles(verb):
        return verb + verb[-1] + "ing"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return verb + "ing"


def third_person(verb: str) -> str:
    """The form after he, she or it: trots, does, marches, flies."""
    if verb in ("be", "have"):
        return {"be": "is", "have": "has"}[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "do", "go")) else "s")


def past_forms(verb: str) -> tuple[str, ...]:
    """Past tense and past participle: trotted; ate and eaten."""
    if verb in PASTS:
        return tuple(dict.fromkeys(PASTS[verb]))
    if re.search(r"[^aeiou]y$", verb):
        return (verb[:-1] + "ied",)
    if _doubles(verb):
        return (verb + verb[-1] + "ed",)
    if verb.endswith("ic"):
        return (verb + "ked",)
    return (verb + ("d" if verb.endswith("e") else "ed"),)


def _doubles(verb: str) -> bool:
    return verb.rpartition("-")[2] in DOUBLED or verb == "sidestep"


def forms(verb: str) -> tuple[str, ...]:
    """All forms of a verb, its base form first."""
    return (verb, participle(verb), third_person(verb), *past_forms(verb))
