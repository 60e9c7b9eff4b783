"""The species: one row of proportions each."""

from kinema.asset.creatures.proportions import (
    HUMAN_LEG,
    PAW_FRONT,
    PAW_HIND,
    Arms,
    Coat,
    Ears,
    Head,
    Neck,
    Proportions,
    Tail,
    Vertebrate,
)

SPECIES: dict[str, Proportions] = {
    "fox": Vertebrate(
        family="quadruped", speed=1.0, trunk=0.42, leg=0.82, hind=PAW_HIND, front=PAW_FRONT,
        chest=0.21, belly=0.17, rump=0.18, thigh=0.14, shank=0.045, paw=0.06, stance=0.13,
        neck=Neck(0.30, 48, 0.17, 0.13), head=Head(0.17, 0.34, 0.105, 0.045, -14),
        tail=Tail(0.85, -28, 20, 0.06, 0.05, bush=0.14, bones=4), ears=Ears("pointed", 0.20, 0.105, 28),
        extras=("nose",),
        coat=Coat((0.83, 0.40, 0.13), belly=(0.95, 0.92, 0.87), legs=(0.16, 0.11, 0.10), feet=(0.13, 0.09, 0.09),
                  muzzle=(0.93, 0.85, 0.76), tail_tip=(0.97, 0.95, 0.92), ear=(0.30, 0.16, 0.10)),
    ),
    "human": Vertebrate(
        family="biped", speed=1.4, trunk=0.50, leg=1.80, hind=HUMAN_LEG, front=Arms(1.45, 42, 4, 0.085, 0.085),
        pitch=90, chest=0.26, belly=0.22, rump=0.25, width=1.15, sag=0, thigh=0.17, shank=0.085, paw=0.09, stance=0.22,
        neck=Neck(0.20, 86, 0.11, 0.10), head=Head(0.22, 0.20, 0.06, 0.045, -4, 1.2, eye=0.14, eye_side=24, eye_up=6),
        ears=Ears("round", 0.03, 0.05, 85), extras=("hair", "shirt"),
        coat=Coat((0.25, 0.42, 0.66), head=(0.87, 0.67, 0.54), legs=(0.87, 0.67, 0.54), feet=(0.24, 0.17, 0.13)),
    ),
}  # fmt: skip

ALSO: dict[str, str] = {
    "vixen": "fox", "man": "human", "woman": "human", "person": "human", "people": "human",
}  # fmt: skip
"""Other words for a species."""
