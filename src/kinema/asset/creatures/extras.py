"""What makes a species unmistakable: horns, trunks, beaks, manes, helmets."""

import numpy as np

from kinema.asset.creatures.builder import Builder, forward
from kinema.asset.creatures.proportions import Vertebrate


def add_extras(build: Builder, p: Vertebrate, head: int, skull: np.ndarray) -> None:
    for extra in p.extras:
        add = ADD.get(extra)
        if add:
            add(build, p, head, skull + 0.35 * p.head.radius * p.trunk * forward(50))


ADD = {}
