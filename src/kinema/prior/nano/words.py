"""How nano is told a motion: by the embedding of the first wording of its name, whatever the sentence was.

The reader has found the motion that a sentence means. The network need not learn two thousand wordings then, and two
sentences that mean the same give the same clip.
"""

from functools import cache

from jaxtyping import Float
from torch import Tensor

from kinema.gait.motions import MOTIONS
from kinema.gait.vocabulary import vocabulary
from kinema.learn.text import embed_texts


def first_wording(motion: str) -> str:
    """ "trotting" """
    return vocabulary()[motion].wordings[0].doing if motion in vocabulary() else MOTIONS[motion].verbs[0][0]


@cache
def embed_motion(motion: str) -> Float[Tensor, "1 384"]:
    """The embedding that stands for a motion of the vocabulary."""
    return embed_texts([first_wording(motion)])
