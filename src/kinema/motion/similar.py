"""Bodies of other sizes that move alike: lengths grow by a factor, times by its root, as from a mouse to a horse.

What a foot that stands is, how contacts give and how the search steps is set for animals from the size of a cat to
that of a giraffe. A smaller or larger body, or one whose file counts in other units, is animated as large as a dog.
"""

from dataclasses import replace

from kinema.asset.character import Character
from kinema.motion.motion import Motion

LEAST_LEG, MOST_LEG, USUAL_LEG = 0.2, 3.0, 0.5
"""Leg lengths of the smallest and the largest body that is animated as it is, and that of the others [m]."""


def growth(leg_length: float) -> float:
    """By how much a body has to grow before it is animated."""
    return 1.0 if LEAST_LEG <= leg_length <= MOST_LEG else USUAL_LEG / leg_length


def grown(character: Character, growth: float) -> Character:
    """The character at another size, without its clips."""
    mesh, skeleton = character.mesh, character.skeleton
    if skeleton is not None:
        skeleton = replace(skeleton, heads=skeleton.heads * growth, tails=skeleton.tails * growth)
    larger = replace(mesh, vertices=mesh.vertices * growth)
    return replace(character, mesh=larger, skeleton=skeleton, clips=(), source=None)


def grown_motion(motion: Motion, growth: float) -> Motion:
    """What the body of another size does in the same poses at its own pace."""
    offsets = None if motion.translation is None else motion.translation * growth
    return Motion(motion.root_position * growth, motion.angles, round(motion.fps / growth**0.5, 6), offsets)
