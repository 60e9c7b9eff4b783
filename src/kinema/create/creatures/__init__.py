"""Built-in creatures: parametric, vertex-coloured, rigged and skinned, so that nothing has to be downloaded."""

from kinema.create.creatures.words import Species, creature, random_creature, read_words, species

__all__ = ["Species", "creature", "random_creature", "read_words", "species"]
