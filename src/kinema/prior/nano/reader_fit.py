"""Fitting the reader to the word lists: the thesaurus, and everyday phrases outside of it.

How much the classifier counts beside the wordings is fitted to phrases that the classifier did not see: held out one by
one, and with all other phrases of the same verb, so that the confidence is that of new words.

`python -m kinema.prior.nano.reader_fit` writes the reader of the package again, after a change of the word lists.
"""

import zlib

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax, normalize

from kinema.gait import function_words as fw
from kinema.gait.lexicon import OUTSIDE, outside_phrases
from kinema.gait.match import NONE
from kinema.gait.sentence import take_apart
from kinema.gait.vocabulary import THESAURUS, inflect, vocabulary
from kinema.learn.text import embed_texts
from kinema.prior.nano.reader import FEATURES, WEIGHTS, Reader, features, framed, likeness

FOLDS = 4
DECAY = 3e-4
SCALE = 8.0
"""Factor on unit embeddings, so that one weight decay suits weights and bias."""
NEW_VERBS = 0.4
"""Weight of phrases with verbs that were not seen, beside those with new words around a known verb."""
OUTSIDE_SHARE = 0.5
"""Weight of phrases outside the vocabulary: they are rarer among prompts than among the lists."""
WHOLE = 6.0
"""Weight of a phrase that is a wording word by word; nothing held out can tell it."""
SHORT = 3
"""Words of a phrase up to which it is learned with a place too."""
PLACES = """
    through the park, along the shore, in the forest, over a puddle, across the street, on the beach, down the road,
    in front of a castle, at night, in the rain, under a tree, beside the river, near a house, towards the camera,
    around the room, through the snow, into the cave, on the grass, past a fence, in the kitchen, to the door, up the
    hill, over a log, behind a wall, on a rock, in the sand, through the desert, in a circle, across the bridge, on
    stage, along a narrow path, in the middle of the street, on the roof, in the garden, at the market, for a long
    time, with great care, like a champion, for the first time, in the dark, by the fire, during a storm, in the
    arena, against the wind, onto a table, from the left, across the finish line, over the rooftops, home, outside,
    all day long, happily, angrily, again and again, with all its strength, out of fear, in panic, in silence, all
    alone
"""
"""What may stand behind any phrase and changes nothing; the classifier learns to ignore it."""
CHARACTERS = """
    a man, a woman, a person, a girl, a boy, a robot, a knight, an astronaut, a zombie, a wizard, a soldier, a fox, a
    dog, a wolf, a horse, a cat, a bear, a lion, an elephant, a dragon, a dinosaur, a t. rex, a triceratops, a bird,
    an eagle, a chicken, a duck, a spider, an ant, a beetle, a crab, a fish, a shark, a whale, a manta ray, a snake, a
    cobra, a bat, a monster, a creature, an alien, a ghost, a skeleton, a ninja, a pirate, a character, the figure,
    it, he, she, someone, the old man, a tired traveller, the little dog, a cartoon character, a slime, an octopus, a
    bee, a butterfly, a toy, a mech, a cyborg, the boxer, a dancer, a thief, a farmer, a king, a princess, a baby, a
    teddy bear, a mannequin, a goblin, a troll, an ogre, a mummy, the cow, a sheep, a goat, a rabbit, a kangaroo, a
    monkey, a gorilla, a frog, a lizard, a crocodile, a turtle, a centipede, a scorpion, a mouse, a rat, a squirrel, a
    deer, a penguin, an ostrich, a griffin, a unicorn, a centaur, an angel, a demon, a vampire, the hero, the player,
    the enemy, the animal, the beast, a drunk sailor, the guard, a waiter, a fan, a singer, the athlete, a jogger, a
    crowd-pleaser, an actor, a child, a doll, a snowman, a scarecrow, a tree creature, a blob, a puppet, the warrior,
    the trout, a salmon, a carp, a tuna, an eel, a dolphin, a jellyfish, a seahorse, a piranha, a goldfish, a squid, the
    judge, a guide, a settler, a listener, the father, a mother, grandma, grandpa, a teacher, a student, the boss, a
    clerk, a nurse, a doctor, a cook, a chef, a waitress, a butler, a maid, the queen, a prince, a priest, a monk, a
    nun, a hunter, an archer, a sniper, a spy, a thug, a gangster, a cowboy, a sailor, the captain, a pilot, a driver,
    a mechanic, a blacksmith, a carpenter, a worker, a builder, a gardener, a miner, a lumberjack, a firefighter, a
    policeman, a cop, the sheriff, a prisoner, a burglar, a tourist, a hiker, a climber, a swimmer, a runner, a skater,
    a wrestler, a fighter, a gladiator, a viking, a samurai, a barbarian, an orc, an elf, a dwarf, a fairy, a witch, a
    mage, a druid, a necromancer, a giant, a golem, a genie, a superhero, a villain, an opponent, the champion, a
    coach, a goalkeeper, a ballerina, a clown, a magician, a mascot, a teenager, a toddler, a baby girl, a lady, a
    gentleman, an old woman, a guest, a neighbour, a patient, a widow, the bride, a politician, the president, a
    professor, a scientist, a lion cub, a pony, a mare, a stallion, a donkey, a mule, a camel, a giraffe, a zebra, a
    buffalo, a bison, a bull, a calf, a pig, a boar, a rhino, a hippo, a leopard, a panther, a cheetah, a lynx, a
    hyena, a coyote, a badger, a mole, a hare, a hedgehog, a kitten, a puppy, a husky, a terrier, a hound, a
    stegosaurus, a raptor, a pterosaur, a hen, a rooster, a sparrow, a crow, a pigeon, a swan, a goose, a parrot, an
    owl, a hawk, a vulture, a seagull, a stork, a woodpecker, a python, a viper, an adder, a rattlesnake, a boa, a bug,
    a cockroach, a grasshopper, a caterpillar, an avatar, an npc, the main character, the protagonist, the mannequin
"""
NO_CHARACTERS = """
    the revenue, quarterly revenue of the company, the company, the market, the stock market, the price of oil,
    prices, interest rates, inflation, the economy, the government, the parliament, the weather, the rain, the wind,
    the sun, the moon, the temperature, the tide, a river, the traffic, the internet, the software, the program, the
    data, a file, the website, the idea, the meeting, the law, the war, the song, the music, a sound, the light,
    smoke, water, the flag, the leaves, the snow, the fog, the bridge, the building, the house, the city, the country,
    the population, the theory, the exam, the film, the novel, the newspaper, unemployment, the budget, taxes, sales,
    the share price, the contract, the recipe, the train schedule, the weekend, time, history, mathematics, the
    equation, the curtain, the sky, a cloud, a tree, a leaf, a flower, the door, a window, a ball, a rock, a stone, a
    bullet, an arrow, the clock, a bell, the engine, a car, a bus, a train, a plane, a rocket, a ship, a boat, the
    volcano, the ice, a wave, waves, a storm, lightning, a candle, the fire, profits, shares, the shares, the bank, the
    app, the server, the phone, the screen, a table, a cup, the road, the elevator, a wheel, the machine, a balloon
"""


def fit_reader() -> Reader:
    """The reader of today's word lists; the same lists give the same reader."""
    names = {name: index for index, name in enumerate((*vocabulary(), NONE))}
    said, placed = said_phrases()
    plain = len(said)
    said = [*said, *placed]
    phrases = [take_apart(text.lower()) for text, _ in said]
    target = torch.tensor([names[motion] for _, motion in said])
    embedded = _embed([framed(phrase.core) for phrase in phrases])
    mean = embedded.mean(0)
    unit = normalize(embedded - mean, dim=-1)
    keys = [phrase.key for phrase in phrases]
    rows = []
    for groups, besides in (([" ".join(key[:2]) for key in keys], True), ([_verb(key) for key in keys], None)):
        logits, alike = _held_out(unit, target, groups, len(names), plain=plain)
        # With its verb unseen a phrase has no wordings either.
        seen = keys if besides else [()] * len(keys)
        rows.append(torch.stack([features(*row, besides=True) for row in zip(logits, alike, seen)]))
    share = torch.cat((torch.ones(len(said)), torch.full((len(said),), NEW_VERBS)))
    share = share * torch.where(torch.cat((target, target)) == names[NONE], OUTSIDE_SHARE, 1.0)
    blend = _fit_blend(torch.cat(rows), torch.cat((target, target)), share)
    weight, bias = _logistic(unit, target, len(names))
    return Reader(mean, weight, bias, blend, _fit_subject(), unit[:plain], target[:plain])


def said_phrases() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """All phrases with their class, and the short ones again with a place; long ones have words around their verb."""
    said = [(each.doing, motion) for motion, words in vocabulary().items() for each in words.wordings]
    said += [(inflect(phrase).doing, NONE) for phrase in outside_phrases()]
    places = [" ".join(place.split()) for place in PLACES.split(",")]
    short = [(text, motion) for text, motion in said if len(text.split()) <= SHORT]
    return said, [(f"{text} {places[zlib.crc32(text.encode()) % len(places)]}", motion) for text, motion in short]


def words_checksum() -> str:
    """Of the word lists, to tell a reader that was fitted to others."""
    return f"{zlib.crc32(THESAURUS.read_bytes() + OUTSIDE.read_bytes()):08x}"


def _embed(texts: list[str]) -> Float[Tensor, "texts 384"]:
    unique = sorted(set(texts), key=lambda text: (len(text), text))  # sentences of one length waste no padding
    table = torch.cat([embed_texts(unique[i : i + 64]) for i in range(0, len(unique), 64)])
    place = {text: index for index, text in enumerate(unique)}
    return table[torch.tensor([place[text] for text in texts])]


def _verb(key: tuple[str, ...]) -> str:
    """The word that carries the meaning: the verb, or what is done, given or taken."""
    words = [word for word in key if word not in fw.PREPOSITIONS] or list(key)
    return words[1] if words[0] in fw.LIGHT and len(words) > 1 else words[0]


def _logistic(
    unit: Float[Tensor, "n 384"], target: Int[Tensor, "n"], classes: int
) -> tuple[Float[Tensor, "c 384"], Float[Tensor, "c"]]:
    weight, bias = torch.zeros(classes, unit.shape[1], requires_grad=True), torch.zeros(classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=25, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(SCALE * unit @ weight.T + bias, target) + DECAY * weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)  # pyright: ignore[reportArgumentType]
    return SCALE * weight.detach(), bias.detach()


def _held_out(
    unit: Float[Tensor, "n 384"], target: Int[Tensor, "n"], groups: list[str], classes: int, *, plain: int
) -> tuple[Float[Tensor, "n classes"], Float[Tensor, "n classes"]]:
    """Log-probabilities and likeness of each phrase, by a classifier and a bank that have none of its group.

    Only the first `plain` phrases go to the bank; the others are some of them with a place."""
    fold = torch.tensor([zlib.crc32(group.encode()) % FOLDS for group in groups])
    result, alike = torch.zeros(len(unit), classes), torch.zeros(len(unit), classes)
    for k in range(FOLDS):
        weight, bias = _logistic(unit[fold != k], target[fold != k], classes)
        result[fold == k] = log_softmax(unit[fold == k] @ weight.T + bias, -1)
        banked = (fold != k) & (torch.arange(len(unit)) < plain)
        alike[fold == k] = likeness(unit[fold == k], unit[banked], target[banked], classes=classes)
    return result, alike


def _fit_blend(rows: Float[Tensor, "n c f"], target: Int[Tensor, "n"], share: Float[Tensor, "n"]) -> Float[Tensor, "f"]:
    blend = torch.zeros(len(FEATURES))
    blend[0] = 1.0
    blend.requires_grad_()
    optimizer = torch.optim.LBFGS([blend], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = (share * cross_entropy(rows @ blend, target, reduction="none")).mean() + 1e-3 * blend.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)  # pyright: ignore[reportArgumentType]
    fitted = blend.detach().clone()
    fitted[FEATURES.index("whole")] = WHOLE
    return fitted


def _fit_subject() -> Float[Tensor, "385"]:
    lists = [[" ".join(word.split()) for word in text.split(",")] for text in (NO_CHARACTERS, CHARACTERS)]
    embedded = _embed([*lists[0], *lists[1]])
    target = torch.tensor([0] * len(lists[0]) + [1] * len(lists[1]))
    weight, bias = _logistic(embedded, target, 2)
    return torch.cat((weight[1] - weight[0], (bias[1] - bias[0])[None]))


if __name__ == "__main__":
    fit_reader().save(WEIGHTS, words=words_checksum())
