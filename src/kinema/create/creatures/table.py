"""All built-in species. A new family is a file like `arthropod.py` and its name in `SPECIES`."""

from kinema.create.creatures.arthropod import ARTHROPODS
from kinema.create.creatures.fish import FISHES
from kinema.create.creatures.proportions import Proportions
from kinema.create.creatures.ray import RAYS
from kinema.create.creatures.serpent import SERPENTS
from kinema.create.creatures.vertebrate.flyers import FLYERS
from kinema.create.creatures.vertebrate.species import VERTEBRATES

SPECIES: dict[str, Proportions] = {**VERTEBRATES, **FLYERS, **ARTHROPODS, **FISHES, **RAYS, **SERPENTS}
ALSO: dict[str, str] = {
    "vixen": "fox", "man": "human", "woman": "human", "person": "human", "people": "human", "hound": "dog",
    "puppy": "dog", "kitten": "cat", "pony": "horse", "stallion": "horse", "stag": "deer", "bull": "cow",
    "hare": "rabbit", "bunny": "rabbit", "hen": "chicken", "rooster": "chicken", "tyrannosaurus": "t-rex",
    "trex": "t-rex", "t rex": "t-rex", "tyrannosaurus rex": "t-rex", "tyrannosaur": "t-rex", "dinosaur": "t-rex",
    "velociraptor": "raptor", "spaceman": "astronaut", "android": "robot", "humanoid robot": "robot", "ape": "gorilla",
    "tarantula": "spider", "gecko": "lizard",
    "piglet": "pig", "alligator": "crocodile", "rat": "mouse", "wolves": "wolf", "mice": "mouse",
    "manta ray": "manta", "ray": "stingray", "serpent": "snake", "boa": "python", "anaconda": "python",
    "rattlesnake": "viper", "adder": "viper", "earthworm": "worm", "salmon": "trout", "killer whale": "orca",
    "porpoise": "dolphin", "blue whale": "whale", "humpback": "whale", "marlin": "swordfish", "mackerel": "tuna",
    "raven": "crow", "jackdaw": "crow", "dove": "pigeon", "hawk": "eagle", "falcon": "eagle", "bald eagle": "eagle",
    "gull": "seagull", "macaw": "parrot", "bird": "crow", "wyvern": "dragon", "winged horse": "pegasus",
    "gryphon": "griffin", "ram": "goat", "lamb": "sheep", "hippopotamus": "hippo", "rhino": "rhinoceros",
    "german shepherd": "shepherd", "alsatian": "shepherd", "labrador": "dog", "retriever": "dog", "carp": "trout",
    "koi": "goldfish", "clown fish": "clownfish", "sea turtle": "turtle",
    "sausage dog": "dachshund", "pug": "bulldog", "whippet": "greyhound", "malamute": "husky", "samoyed": "husky",
}  # fmt: skip
"""Other words for a species."""
FAMILY_SHARES = {"quadruped": 10.0, "biped": 7.0, "bird": 3.5, "fish": 2.0, "snake": 1.5, "winged": 1.5, "ray": 0.7}
"""How often `random_creature` draws a family; 1 for all others. Most prompts are about people and four legs."""
