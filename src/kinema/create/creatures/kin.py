"""Words that name no species: a blend of the species that they are nearest to in meaning.

A word of `KIN` has a mix of its own. Any other is embedded (MiniLM), and a ridge regression, fitted to the species, to
other words for them, to `KIN` and to `THINGS`, gives it a share of each species and of being a thing. The shares of a
family add up to how likely it is; the blend is of the species of the likeliest one whose rows can be mixed. What is
likelier a thing, or near to nothing, is refused.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from kinema.create.creatures.proportions import Proportions
from kinema.create.creatures.table import ALSO, SPECIES
from kinema.create.creatures.variation import mix

_TABLE = """
okapi: zebra 0.6, giraffe 0.4 | brown
antelope: deer 0.8, goat 0.2
gazelle: deer 0.8, goat 0.2 | slim
impala: deer 0.8, goat 0.2
moose: deer 0.7, cow 0.3 | big
elk: deer 0.8, horse 0.2
reindeer: deer 1
bison: cow 0.8, camel 0.2 | dark
buffalo: cow 0.9, camel 0.1 | dark
yak: cow 0.7, camel 0.3 | dark
ox: cow 1 | brown
donkey: horse 0.8, zebra 0.2 | grey small
mule: horse 1 | dark
llama: sheep 0.6, camel 0.4 | long-necked
alpaca: sheep 0.6, camel 0.4
boar: pig 1 | dark
warthog: pig 1 | brown
tapir: pig 0.7, horse 0.3 | dark
hyena: dog 0.5, wolf 0.5
jackal: fox 0.6, wolf 0.4
coyote: wolf 0.6, fox 0.4
dingo: dog 0.7, fox 0.3
poodle: dog 0.7, sheep 0.3 | white
beagle: dog 0.8, corgi 0.2
terrier: dog 0.6, chihuahua 0.4
mastiff: bulldog 0.6, shepherd 0.4 | big
leopard: tiger 0.6, lion 0.4
jaguar: tiger 0.7, lion 0.3
cheetah: tiger 0.5, greyhound 0.5
panther: tiger 0.8, cat 0.2 | black
puma: lion 0.5, cat 0.5
lynx: cat 0.7, tiger 0.3
mammoth: elephant 1 | brown
badger: bear 0.7, mouse 0.3 | grey
raccoon: bear 0.6, mouse 0.4 | grey
otter: bear 0.5, mouse 0.5 | brown
beaver: bear 0.5, mouse 0.5 | brown
wombat: bear 0.7, mouse 0.3
koala: panda 0.6, bear 0.4 | grey
sloth: bear 1 | brown
squirrel: mouse 0.6, rabbit 0.4 | brown
hamster: mouse 0.8, rabbit 0.2
hedgehog: mouse 0.9, bear 0.1 | brown
weasel: mouse 1 | brown
meerkat: mouse 0.7, rabbit 0.3
guinea pig: mouse 0.7, rabbit 0.3
monkey: gorilla 1 | small brown
chimpanzee: gorilla 1 | dark
orangutan: gorilla 1 | orange
lemur: gorilla 1 | small grey
walrus: hippo 1 | brown
seal: dolphin 0.6, whale 0.4 | grey
manatee: whale 0.7, dolphin 0.3 | grey
narwhal: whale 0.6, dolphin 0.4
penguin: duck 0.7, chicken 0.3 | black
goose: duck 1 | white big
swan: duck 0.7, ostrich 0.3 | white
turkey: chicken 0.8, ostrich 0.2 | dark big
peacock: chicken 0.9, ostrich 0.1 | blue
emu: ostrich 1 | brown
flamingo: ostrich 0.9, duck 0.1 | pink
kiwi: chicken 0.7, ostrich 0.3 | brown
sparrow: pigeon 0.6, crow 0.4 | small brown
robin: pigeon 1 | small brown
swallow: pigeon 0.6, crow 0.4 | small
stork: seagull 0.6, crow 0.4 | white big
vulture: eagle 0.9, crow 0.1 | dark
phoenix: eagle 1 | red
stegosaurus: elephant 1 | green
triceratops: rhinoceros 1 | green
brontosaurus: giraffe 1 | green big
allosaurus: t-rex 1
pterodactyl: eagle 0.6, seagull 0.4 | big
iguana: lizard 1
chameleon: lizard 1 | green
salamander: lizard 1 | black
komodo: lizard 0.5, crocodile 0.5 | brown
newt: lizard 1 | small
tortoise: turtle 1 | brown
frog: lizard 1 | green fat
scorpion: spider 1 | brown
lobster: crab 1 | red
shrimp: crab 1 | pink
ladybug: beetle 1 | red
cockroach: beetle 1 | brown
bee: beetle 0.5, ant 0.5 | yellow
wasp: ant 0.7, beetle 0.3 | yellow
fly: beetle 0.5, ant 0.5 | black
mosquito: ant 1 | thin
grasshopper: ant 0.6, beetle 0.4 | green
mantis: ant 1 | green
termite: ant 1 | cream
caterpillar: worm 1 | green fat
millipede: worm 1 | dark
slug: worm 1 | fat
leech: worm 1 | black
cod: trout 0.6, tuna 0.4
piranha: goldfish 0.5, fish 0.5 | red
barracuda: trout 0.5, tuna 0.5
sturgeon: shark 0.5, trout 0.5 | grey
beluga: dolphin 0.6, whale 0.4 | white
goblin: human 1 | greenskin short-legged small
elf: human 1 | slim
dwarf: human 1 | short-legged fat
orc: human 1 | greenskin big fat
troll: human 1 | greenskin giant fat
ogre: human 1 | greenskin big fat
gnome: human 1 | chibi
zombie: human 1 | green thin
skeleton: human 1 | skeleton
vampire: human 1 | dark thin
witch: human 1 | dark
wizard: human 1 | blue
knight: robot 0.6, human 0.4 | silver
soldier: human 1 | green
warrior: human 1
king: human 1 | red
queen: human 1 | purple
princess: human 1 | pink
prince: human 1 | blue
pirate: human 1 | dark
ninja: human 1 | black
dancer: human 1 | slim
child: human 1 | young
boy: human 1 | young
girl: human 1 | young pink
baby: human 1 | baby
alien: astronaut 0.5, human 0.5 | green thin
cyborg: robot 0.6, human 0.4
mannequin: human 0.6, robot 0.4 | white
werewolf: human 1 | grey
demon: human 1 | red
angel: human 1 | white
snowman: astronaut 1 | white fat
yeti: human 1 | white giant fat
minotaur: human 1 | brown big
chimera: griffin 0.5, dragon 0.5
wyrm: dragon 1
hydra: dragon 1 | green
basilisk: cobra 0.6, snake 0.4 | green
kraken: whale 1 | dark
leviathan: whale 1 | dark
mermaid: dolphin 1
imp: human 1 | red small short-legged
fairy: human 1 | pink small slim
hobbit: human 1 | short-legged
cowboy: human 1 | brown
wildebeest: cow 0.6, deer 0.4 | dark
caribou: deer 1
ocelot: cat 0.6, tiger 0.4
pelican: seagull 0.8, crow 0.2 | white big
toucan: parrot 1 | black
porcupine: mouse 0.8, bear 0.2 | dark big
aardvark: pig 0.7, dog 0.3
armadillo: pig 0.6, dachshund 0.4 | grey
platypus: bear 0.5, mouse 0.5 | brown short-legged
marmot: mouse 0.7, bear 0.3 | brown
"""
THINGS = (
    "car", "truck", "train", "airplane", "ship", "bicycle", "house", "door", "table", "chair", "lamp", "computer",
    "phone", "book", "pen", "cup", "teapot", "knife", "sword", "hammer", "shoe", "hat", "shirt", "guitar", "piano",
    "music", "song", "tree", "flower", "grass", "leaf", "rock", "mountain", "river", "cloud", "sea", "sun", "moon",
    "banana", "apple", "bread", "pizza", "cake", "soup", "money", "democracy", "freedom", "happiness", "love", "idea",
    "science", "number", "colour", "time", "city", "country", "school", "game", "ball", "box", "bottle", "window",
    "running", "jumping", "asdf", "qwerty", "blah", "xyz", "foo", "thing", "plastic", "metal", "water", "fire",
)  # fmt: skip
"""What is no creature."""
THING = "thing"
RIDGE = 1.0
"""Weight of the squared coefficients: of 0.3 to 3 the one with the most families right, each word left out in turn."""
LEAST_SHARE = 0.35
"""Below it, no family is likely enough."""
LEAST_COSINE = 0.45
"""Below it, a word is near to none that is known: nonsense reaches 0.43."""
SHARE = 0.15
"""Least weight of a species in a blend."""
MOST = 3


@dataclass(frozen=True)
class Kin:
    """What a word is taken for."""

    shares: dict[str, float]
    """Weights of species, the largest first; they add up to one."""
    adjectives: tuple[str, ...] = ()

    def said(self, word: str) -> str:
        """One line for the user."""
        names = [f"{name} {share:.1f}" for name, share in self.shares.items()]
        first = next(iter(self.shares))
        between = f"between {', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else f"like a {first}"
        return f"{word}: {between}" + "".join(f", {adjective}" for adjective in self.adjectives)


def _read(table: str) -> dict[str, Kin]:
    found = {}
    for line in table.strip().splitlines():
        word, _, rest = line.partition(": ")
        mixed, _, adjectives = rest.partition(" | ")
        pairs = [part.rsplit(" ", 1) for part in mixed.split(", ")]
        found[word] = Kin({name: float(share) for name, share in pairs}, tuple(adjectives.split()))
    return found


KIN: dict[str, Kin] = _read(_TABLE)
"""Words with a mix of species and adjectives of their own."""


def find_kin(word: str, *, without: str | None = None) -> Kin | None:
    """What a word is taken for, None if it is near to no creature; `without` leaves an anchor out, as if unknown."""
    if word in KIN and word != without:
        return KIN[word]
    cosines = {anchor: value for anchor, value in _cosines(word).items() if anchor != without}
    if max(value for anchor, value in cosines.items() if anchor not in THINGS) < LEAST_COSINE:
        return None
    shares = _regressed(word, without)
    families: dict[str, float] = defaultdict(float)
    for name, share in shares.items():
        families[SPECIES[name].family if name in SPECIES else name] += share
    family = max(families, key=lambda one: families[one])
    if family == THING or families[family] < LEAST_SHARE:
        return None
    ranked = sorted((name for name in shares if name in SPECIES and SPECIES[name].family == family),
                    key=lambda name: -shares[name])  # fmt: skip
    row = SPECIES[ranked[0]]
    kept = [name for name in ranked if name == ranked[0] or row.blends_with(SPECIES[name])][:MOST]
    kept = [name for name in kept if shares[name] >= SHARE * sum(max(shares[one], 0.0) for one in kept)]
    total = sum(shares[name] for name in kept)
    return Kin({name: shares[name] / total for name in kept})


def nearest_names(word: str, count: int = 3) -> list[str]:
    """Species that a word is nearest to, for those who have to choose another."""
    best: dict[str, float] = {}
    for anchor, value in _cosines(word).items():
        if anchor not in THINGS:
            name = next(iter(_meaning(anchor).shares))
            best[name] = max(best.get(name, -1.0), value)
    return sorted(best, key=lambda name: -best[name])[:count]


def blend(shares: Mapping[str, float]) -> Proportions:
    """The mean of species' rows, weighted; what cannot be averaged is the first one's."""
    (first, total), *others = shares.items()
    row = SPECIES[first]
    for name, share in others:
        total += share
        row = mix(row, SPECIES[name], share / total, None)
    return row.limited(SPECIES[first])


def _meaning(anchor: str) -> Kin:
    return KIN.get(anchor) or Kin({ALSO.get(anchor, anchor): 1.0})


def _cosines(word: str) -> dict[str, float]:
    """Cosine of the word with each anchor."""
    from kinema.learn.text import embed_texts

    anchors, plain, _ = _embedded()
    return dict(zip(anchors, (plain @ embed_texts([word])[0].numpy()).tolist(), strict=True))


def _regressed(word: str, without: str | None) -> dict[str, float]:
    """The regression's share of each species, and of `THING`."""
    from kinema.learn.text import embed_texts

    anchors, _, spoken = _embedded()
    kept = [i for i, anchor in enumerate(anchors) if anchor != without]
    names = [*SPECIES, THING]
    targets = np.zeros((len(kept), len(names)))
    for row, i in enumerate(kept):
        of = {THING: 1.0} if anchors[i] in THINGS else _meaning(anchors[i]).shares
        targets[row, [names.index(name) for name in of]] = list(of.values())
    middle = spoken[kept].mean(0)
    known, asked = (_centred(x, middle) for x in (spoken[kept], embed_texts([f"a {word}"]).double().numpy()))
    dual = np.linalg.solve(known @ known.T + RIDGE * np.eye(len(kept)), targets)
    return dict(zip(names, (asked @ known.T @ dual)[0].tolist(), strict=True))


def _centred(embedded: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Directions from the middle of all, and a constant for the offset."""
    away = embedded - middle
    return np.pad(away / np.linalg.norm(away, axis=-1, keepdims=True), ((0, 0), (0, 1)), constant_values=0.3)


@cache
def _embedded() -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """All anchors, as words and in a phrase."""
    from kinema.learn.text import embed_texts

    words = (*SPECIES, *ALSO, *KIN, *THINGS)
    return words, embed_texts(list(words)).numpy(), embed_texts([f"a {word}" for word in words]).double().numpy()
