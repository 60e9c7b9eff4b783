"""The species with a spine: one row of proportions each. See docs/creatures.md for how to add one."""

from kinema.create.creatures.proportions import Coat
from kinema.create.creatures.vertebrate.proportions import Arms, Bones, Ears, Head, Neck, Tail, Vertebrate

PAW_HIND: Bones = ((0.36, 32), (0.37, -34), (0.22, 6), (0.13, 76))
PAW_FRONT: Bones = ((0.36, -24), (0.44, 8), (0.14, 74))
HOOF_HIND: Bones = ((0.31, 28), (0.35, -30), (0.29, 4), (0.07, 40))
HOOF_FRONT: Bones = ((0.30, -26), (0.38, 9), (0.26, 0), (0.07, 40))
PILLAR_HIND: Bones = ((0.44, 10), (0.40, -9), (0.16, 35))
PILLAR_FRONT: Bones = ((0.42, -12), (0.42, 9), (0.16, 35))
SOLE_HIND: Bones = ((0.46, 14), (0.42, -13), (0.26, 76))
SOLE_FRONT: Bones = ((0.42, -18), (0.46, 9), (0.18, 72))
HUMAN_LEG: Bones = ((0.49, 3), (0.46, -4), (0.22, 76))
HOP_HIND: Bones = ((0.42, 62), (0.52, -48), (0.46, 82))
HOP_FRONT: Bones = ((0.36, -30), (0.44, 10), (0.16, 70))
BIRD_LEG: Bones = ((0.30, 40), (0.40, -28), (0.34, 12), (0.17, 84))
THEROPOD_LEG: Bones = ((0.38, 36), (0.38, -36), (0.24, 16), (0.20, 80))
KNUCKLE_FRONT: Bones = ((0.44, -8), (0.44, 6), (0.13, 28))
SPRAWL_LEG: Bones = ((0.45, 0), (0.45, 5), (0.30, 70))

WHITE, BLACK, CREAM = (0.95, 0.94, 0.92), (0.12, 0.11, 0.11), (0.93, 0.88, 0.78)

VERTEBRATES: dict[str, Vertebrate] = {
    "dog": Vertebrate(
        family="quadruped", speed=1.2, trunk=0.50, leg=0.90, hind=PAW_HIND, front=PAW_FRONT,
        chest=0.24, belly=0.18, rump=0.19, thigh=0.15, shank=0.055, paw=0.068, stance=0.14,
        neck=Neck(0.34, 50, 0.17, 0.135), head=Head(0.18, 0.33, 0.125, 0.085, -14),
        tail=Tail(0.62, 15, 45, 0.05, 0.022, bones=4), ears=Ears("floppy", 0.19, 0.10), extras=("nose",),
        coat=Coat((0.80, 0.60, 0.34), belly=(0.92, 0.80, 0.60), muzzle=(0.86, 0.70, 0.46), ear=(0.62, 0.42, 0.22)),
    ),
    "cat": Vertebrate(
        family="quadruped", speed=0.8, trunk=0.29, leg=0.78, hind=PAW_HIND, front=PAW_FRONT,
        chest=0.19, belly=0.185, rump=0.18, thigh=0.14, shank=0.05, paw=0.062, stance=0.12,
        neck=Neck(0.22, 48, 0.14, 0.13),
        head=Head(0.19, 0.235, 0.115, 0.07, -14, 0.92, eye=0.23, eye_side=34, eye_up=18),
        tail=Tail(1.0, 5, 75, 0.045, 0.036, bones=5), ears=Ears("pointed", 0.14, 0.11, 30), extras=("nose",),
        coat=Coat((0.56, 0.53, 0.50), belly=WHITE, feet=WHITE, muzzle=WHITE, pattern="stripes",
                  accent=(0.27, 0.25, 0.24), nose=(0.85, 0.50, 0.50), iris=(0.62, 0.78, 0.25)),
    ),
    "fox": Vertebrate(
        family="quadruped", speed=1.0, trunk=0.42, leg=0.82, hind=PAW_HIND, front=PAW_FRONT,
        chest=0.21, belly=0.17, rump=0.18, thigh=0.14, shank=0.045, paw=0.06, stance=0.13,
        neck=Neck(0.30, 48, 0.17, 0.13), head=Head(0.17, 0.34, 0.105, 0.045, -14),
        tail=Tail(0.95, -34, 22, 0.06, 0.05, bush=0.115, bones=4), ears=Ears("pointed", 0.20, 0.115, 28),
        extras=("nose",),
        coat=Coat((0.83, 0.40, 0.13), belly=WHITE, legs=(0.16, 0.11, 0.10), feet=(0.13, 0.09, 0.09),
                  muzzle=WHITE, muzzle_from=0.0, tail_tip=(0.97, 0.95, 0.92), ear=(0.30, 0.16, 0.10)),
    ),
    "wolf": Vertebrate(
        family="quadruped", speed=1.4, trunk=0.68, leg=1.02, hind=PAW_HIND, front=PAW_FRONT,
        chest=0.24, belly=0.18, rump=0.185, thigh=0.145, shank=0.05, paw=0.07, stance=0.13,
        neck=Neck(0.34, 36, 0.21, 0.17), head=Head(0.17, 0.36, 0.12, 0.065, -12),
        tail=Tail(0.62, -62, 12, 0.06, 0.04, bush=0.095, bones=3), ears=Ears("pointed", 0.14, 0.085, 26),
        extras=("nose",),
        coat=Coat((0.44, 0.43, 0.43), belly=(0.82, 0.80, 0.77), legs=(0.66, 0.63, 0.60), muzzle=(0.80, 0.78, 0.75),
                  tail_tip=(0.18, 0.17, 0.17), ear=(0.27, 0.26, 0.26), iris=(0.85, 0.66, 0.20)),
    ),
    "horse": Vertebrate(
        family="quadruped", speed=1.6, trunk=1.05, leg=1.14, hind=HOOF_HIND, front=HOOF_FRONT,
        chest=0.265, belly=0.265, rump=0.255, thigh=0.17, shank=0.045, paw=0.065, stance=0.15,
        neck=Neck(0.72, 50, 0.21, 0.125, bones=2, curve=-6), head=Head(0.135, 0.52, 0.115, 0.082, -46),
        tail=Tail(0.80, -42, -40, 0.05, 0.06, bush=0.085, bones=4), ears=Ears("pointed", 0.13, 0.06, 22),
        extras=("mane",),
        coat=Coat((0.48, 0.27, 0.14), legs=(0.36, 0.20, 0.11), feet=(0.13, 0.10, 0.09), muzzle=(0.26, 0.17, 0.13),
                  muzzle_from=0.65, tail=(0.10, 0.08, 0.07), mane=(0.10, 0.08, 0.07)),
    ),
    "zebra": Vertebrate(
        family="quadruped", speed=1.5, trunk=0.95, leg=1.05, hind=HOOF_HIND, front=HOOF_FRONT,
        chest=0.265, belly=0.27, rump=0.255, thigh=0.165, shank=0.045, paw=0.062, stance=0.15,
        neck=Neck(0.58, 48, 0.20, 0.125, bones=2, curve=-6), head=Head(0.135, 0.48, 0.115, 0.082, -46),
        tail=Tail(0.6, -65, -15, 0.035, 0.03, bush=0.05, bones=3), ears=Ears("round", 0.11, 0.05, 24),
        extras=("mane",),
        coat=Coat(WHITE, feet=BLACK, muzzle=(0.22, 0.20, 0.20), muzzle_from=0.6, tail_tip=BLACK, mane=BLACK,
                  pattern="stripes", accent=BLACK),
    ),
    "deer": Vertebrate(
        family="quadruped", speed=1.3, trunk=0.80, leg=1.15, hind=HOOF_HIND, front=HOOF_FRONT,
        chest=0.215, belly=0.19, rump=0.20, thigh=0.13, shank=0.03, paw=0.042, stance=0.12,
        neck=Neck(0.52, 58, 0.145, 0.10, bones=2, curve=8), head=Head(0.115, 0.33, 0.09, 0.052, -24),
        tail=Tail(0.16, -40, 0, 0.055, 0.03, bones=2), ears=Ears("pointed", 0.20, 0.085, 60),
        extras=("antlers", "nose"),
        coat=Coat((0.60, 0.40, 0.23), belly=CREAM, legs=(0.52, 0.34, 0.20), feet=(0.14, 0.11, 0.10),
                  muzzle=CREAM, muzzle_from=0.3, tail_tip=WHITE),
    ),
    "cow": Vertebrate(
        family="quadruped", speed=1.1, trunk=1.25, leg=0.86, hind=HOOF_HIND, front=HOOF_FRONT,
        chest=0.285, belly=0.30, rump=0.265, width=0.9, thigh=0.145, shank=0.048, paw=0.066, stance=0.15,
        neck=Neck(0.34, 24, 0.21, 0.15), head=Head(0.145, 0.37, 0.125, 0.092, -38),
        tail=Tail(0.66, -80, -6, 0.025, 0.016, bush=0.042, bones=3), ears=Ears("pointed", 0.15, 0.065, 92),
        extras=("horns", "udder"),
        coat=Coat(WHITE, feet=(0.20, 0.18, 0.17), muzzle=(0.90, 0.70, 0.66), muzzle_from=0.6, ear=BLACK, tail_tip=BLACK,
                  pattern="patches", accent=BLACK),
    ),
    "pig": Vertebrate(
        family="quadruped", speed=0.9, trunk=0.75, leg=0.62, hind=HOOF_HIND, front=HOOF_FRONT,
        chest=0.30, belly=0.31, rump=0.29, width=0.92, thigh=0.14, shank=0.055, paw=0.066, stance=0.15,
        neck=Neck(0.20, 14, 0.26, 0.22), head=Head(0.21, 0.36, 0.13, 0.10, -18),
        tail=Tail(0.25, 20, 120, 0.025, 0.016, bones=3), ears=Ears("pointed", 0.16, 0.10, 48), extras=("nose",),
        coat=Coat((0.93, 0.67, 0.64), feet=(0.45, 0.32, 0.30), nose=(0.85, 0.48, 0.48), ear=(0.88, 0.56, 0.54)),
    ),
    "elephant": Vertebrate(
        family="quadruped", speed=1.6, trunk=1.75, leg=0.95, hind=PILLAR_HIND, front=PILLAR_FRONT,
        chest=0.37, belly=0.40, rump=0.36, width=0.88, thigh=0.19, shank=0.125, paw=0.14, fore=0.95, stance=0.21,
        neck=Neck(0.32, 18, 0.27, 0.25), head=Head(0.26, 0.2, 0.12, 0.10, -30, 1.15, eye=0.08, eye_side=62, eye_up=12),
        tail=Tail(0.5, -75, -8, 0.035, 0.02, bush=0.035, bones=3), ears=Ears("fan", 0.38, 0.28),
        extras=("trunk", "tusks"),
        coat=Coat((0.50, 0.50, 0.53), feet=(0.42, 0.42, 0.44), ear=(0.56, 0.52, 0.54)),
    ),
    "giraffe": Vertebrate(
        family="quadruped", speed=1.5, trunk=1.30, leg=1.42, hind=HOOF_HIND, front=HOOF_FRONT, pitch=16,
        chest=0.255, belly=0.235, rump=0.20, thigh=0.14, shank=0.042, paw=0.062, stance=0.15,
        neck=Neck(1.60, 64, 0.18, 0.09, bones=3, curve=8), head=Head(0.105, 0.34, 0.085, 0.058, -24),
        tail=Tail(0.62, -72, -8, 0.03, 0.018, bush=0.045, bones=3), ears=Ears("pointed", 0.13, 0.05, 68),
        extras=("ossicones", "mane"),
        coat=Coat((0.93, 0.82, 0.58), legs=(0.97, 0.93, 0.84), feet=(0.25, 0.18, 0.14), muzzle=(0.80, 0.68, 0.50),
                  muzzle_from=0.5, head=(0.90, 0.74, 0.48), tail_tip=(0.15, 0.11, 0.09), mane=(0.50, 0.27, 0.13),
                  pattern="net", accent=(0.60, 0.34, 0.16)),
    ),
    "camel": Vertebrate(
        family="quadruped", speed=1.3, trunk=1.25, leg=1.22, hind=HOOF_HIND, front=HOOF_FRONT,
        chest=0.27, belly=0.24, rump=0.22, thigh=0.135, shank=0.045, paw=0.07, stance=0.14,
        neck=Neck(0.85, 22, 0.16, 0.10, bones=3, curve=62), head=Head(0.125, 0.36, 0.10, 0.075, -16),
        tail=Tail(0.45, -75, -8, 0.03, 0.018, bush=0.035, bones=2), ears=Ears("round", 0.06, 0.04, 40),
        extras=("two humps",),
        coat=Coat((0.78, 0.60, 0.38), feet=(0.55, 0.40, 0.26), mane=(0.60, 0.42, 0.24)),
    ),
    "bear": Vertebrate(
        family="quadruped", speed=1.1, trunk=1.0, leg=0.74, hind=SOLE_HIND, front=SOLE_FRONT,
        chest=0.285, belly=0.29, rump=0.285, width=0.92, thigh=0.19, shank=0.11, paw=0.115, stance=0.17,
        neck=Neck(0.26, 22, 0.23, 0.20), head=Head(0.20, 0.34, 0.115, 0.075, -12, eye=0.13, eye_side=42, eye_up=22),
        tail=Tail(0.10, -40, 0, 0.05, 0.04, bones=1), ears=Ears("round", 0.06, 0.085, 42), extras=("hump", "nose"),
        coat=Coat((0.40, 0.26, 0.16), legs=(0.30, 0.19, 0.12), feet=(0.24, 0.15, 0.10), muzzle=(0.62, 0.46, 0.32)),
    ),
    "panda": Vertebrate(
        family="quadruped", speed=0.8, trunk=0.85, leg=0.70, hind=SOLE_HIND, front=SOLE_FRONT,
        chest=0.29, belly=0.30, rump=0.29, width=0.95, thigh=0.19, shank=0.115, paw=0.12, stance=0.17,
        neck=Neck(0.20, 24, 0.24, 0.21), head=Head(0.25, 0.33, 0.12, 0.08, -10, eye=0.13, eye_side=38, eye_up=12),
        tail=Tail(0.10, -40, 0, 0.06, 0.05, bones=1), ears=Ears("round", 0.07, 0.095, 42),
        extras=("nose", "patched eyes"),
        coat=Coat(WHITE, legs=BLACK, feet=BLACK, thighs=BLACK, ear=BLACK),
    ),
    "lion": Vertebrate(
        family="quadruped", speed=1.2, trunk=0.95, leg=0.80, hind=PAW_HIND, front=PAW_FRONT,
        chest=0.23, belly=0.19, rump=0.20, thigh=0.16, shank=0.065, paw=0.085, stance=0.14,
        neck=Neck(0.26, 36, 0.19, 0.16), head=Head(0.16, 0.27, 0.115, 0.085, -10, eye=0.17, eye_side=36, eye_up=18),
        tail=Tail(0.85, -52, 40, 0.035, 0.025, bush=0.055, bones=4), ears=Ears("round", 0.06, 0.07, 44),
        extras=("ruff", "nose"),
        coat=Coat((0.82, 0.62, 0.34), belly=CREAM, muzzle=(0.92, 0.80, 0.60), mane=(0.45, 0.24, 0.10),
                  tail_tip=(0.30, 0.17, 0.09), iris=(0.85, 0.65, 0.20)),
    ),
    "tiger": Vertebrate(
        family="quadruped", speed=1.2, trunk=1.0, leg=0.76, hind=PAW_HIND, front=PAW_FRONT,
        chest=0.225, belly=0.20, rump=0.20, thigh=0.155, shank=0.065, paw=0.085, stance=0.14,
        neck=Neck(0.26, 26, 0.20, 0.18), head=Head(0.175, 0.25, 0.115, 0.085, -10, eye=0.16, eye_side=36, eye_up=18),
        tail=Tail(0.9, -48, 45, 0.045, 0.035, bones=4), ears=Ears("round", 0.055, 0.065, 42), extras=("nose",),
        coat=Coat((0.88, 0.50, 0.16), belly=WHITE, muzzle=WHITE, ear=BLACK, pattern="stripes", accent=BLACK,
                  nose=(0.75, 0.45, 0.42), iris=(0.85, 0.72, 0.25)),
    ),
    "rabbit": Vertebrate(
        family="quadruped", speed=0.6, trunk=0.22, leg=0.62, hind=HOP_HIND, front=HOP_FRONT, pitch=8,
        chest=0.22, belly=0.26, rump=0.30, width=0.9, thigh=0.20, shank=0.07, paw=0.075, fore=0.75, stance=0.16,
        neck=Neck(0.20, 52, 0.19, 0.17), head=Head(0.215, 0.28, 0.14, 0.09, -14, eye=0.2, eye_side=66, eye_up=18),
        tail=Tail(0.16, 30, 0, 0.10, 0.11, bones=1), ears=Ears("long", 0.48, 0.10, 13), extras=("nose",),
        coat=Coat((0.62, 0.54, 0.46), belly=WHITE, muzzle=(0.72, 0.65, 0.57), tail_tip=WHITE, ear=(0.70, 0.56, 0.50),
                  nose=(0.90, 0.60, 0.60)),
    ),
    "mouse": Vertebrate(
        family="quadruped", speed=0.3, trunk=0.065, leg=0.42, hind=SOLE_HIND, front=SOLE_FRONT, pitch=-4,
        chest=0.20, belly=0.25, rump=0.27, width=0.95, thigh=0.12, shank=0.045, paw=0.055, stance=0.17,
        neck=Neck(0.14, 15, 0.19, 0.17), head=Head(0.19, 0.36, 0.13, 0.035, -14, eye=0.2, eye_side=58, eye_up=30),
        tail=Tail(1.25, -12, 30, 0.035, 0.012, bones=5), ears=Ears("round", 0.13, 0.14, 48), extras=("nose",),
        coat=Coat((0.55, 0.52, 0.50), belly=(0.80, 0.77, 0.74), feet=(0.90, 0.66, 0.62), tail=(0.88, 0.64, 0.60),
                  ear=(0.88, 0.66, 0.62), nose=(0.88, 0.50, 0.50)),
    ),
    "kangaroo": Vertebrate(
        family="biped", speed=2.0, trunk=0.68, leg=0.92, hind=HOP_HIND, front=Arms(0.62, 20, 30, 0.05, 0.05), pitch=56,
        chest=0.17, belly=0.235, rump=0.265, thigh=0.19, shank=0.055, paw=0.062, stance=0.17,
        neck=Neck(0.32, 72, 0.12, 0.09), head=Head(0.12, 0.30, 0.085, 0.052, -10),
        tail=Tail(1.55, -44, 45, 0.14, 0.04, bones=5), ears=Ears("long", 0.22, 0.075, 24), extras=("nose",),
        coat=Coat((0.66, 0.45, 0.28), belly=(0.88, 0.76, 0.60), feet=(0.36, 0.25, 0.18), muzzle=(0.60, 0.42, 0.28),
                  ear=(0.55, 0.37, 0.24)),
    ),
    "gorilla": Vertebrate(
        family="quadruped", speed=0.9, trunk=0.66, leg=0.68, hind=SOLE_HIND, front=KNUCKLE_FRONT, pitch=44,
        chest=0.36, belly=0.31, rump=0.25, width=1.15, thigh=0.18, shank=0.11, paw=0.12, fore=0.95, stance=0.34,
        neck=Neck(0.26, 48, 0.25, 0.19), head=Head(0.20, 0.27, 0.14, 0.115, -18, 1.1, eye=0.13, eye_side=24, eye_up=16),
        ears=Ears("round", 0.02, 0.05, 88), extras=("silverback", "crest"),
        coat=Coat((0.22, 0.21, 0.22), feet=(0.15, 0.14, 0.14), muzzle=(0.40, 0.36, 0.34), eye=(0.04, 0.03, 0.03),
                  iris=(0.36, 0.20, 0.10)),
    ),
    "human": Vertebrate(
        family="biped", speed=1.4, trunk=0.50, leg=1.78, hind=HUMAN_LEG, front=Arms(1.42, 40, 4, 0.082, 0.085),
        pitch=90, chest=0.235, belly=0.20, rump=0.225, width=1.25, sag=0, thigh=0.175, shank=0.08, paw=0.085,
        stance=0.21, neck=Neck(0.22, 86, 0.12, 0.11),
        head=Head(0.21, 0.225, 0.05, 0.035, -4, 1.2, eye=0.15, eye_side=23, eye_up=6),
        ears=Ears("round", 0.02, 0.045, 88), extras=("hair", "clothes"),
        coat=Coat((0.78, 0.22, 0.18), head=(0.87, 0.67, 0.54), legs=(0.87, 0.67, 0.54), feet=(0.20, 0.16, 0.14),
                  accent=(0.20, 0.27, 0.45), iris=(0.97, 0.97, 0.97)),
    ),
    "astronaut": Vertebrate(
        family="biped", speed=1.1, trunk=0.52, leg=1.62, hind=HUMAN_LEG, front=Arms(1.40, 44, 6, 0.13, 0.12),
        pitch=90, chest=0.30, belly=0.27, rump=0.27, width=1.2, sag=0, thigh=0.22, shank=0.14, paw=0.145, stance=0.26,
        neck=Neck(0.22, 88, 0.18, 0.17), head=Head(0.35, 0.2, 0.05, 0.05, 0, eye=0),
        extras=("helmet", "backpack"),
        coat=Coat((0.93, 0.93, 0.94), feet=(0.55, 0.57, 0.60), accent=(0.16, 0.13, 0.07)),
    ),
    "robot": Vertebrate(
        family="biped", speed=1.0, trunk=0.50, leg=1.45, hind=HUMAN_LEG, front=Arms(1.30, 36, 4, 0.085, 0.10),
        pitch=90, chest=0.30, belly=0.17, rump=0.21, width=1.1, sag=0, thigh=0.135, shank=0.12, paw=0.12, stance=0.24,
        neck=Neck(0.32, 90, 0.09, 0.09), head=Head(0.26, 0.22, 0.05, 0.05, 0, 0.85, eye=0.17, eye_side=24, eye_up=8),
        extras=("boxy", "antenna", "visor"),
        coat=Coat((0.62, 0.66, 0.70), legs=(0.42, 0.45, 0.50), feet=(0.28, 0.30, 0.34), head=(0.72, 0.75, 0.78),
                  accent=(0.95, 0.62, 0.12), eye=(0.35, 0.95, 1.0)),
    ),
    "ostrich": Vertebrate(
        family="bird", speed=1.5, trunk=0.70, leg=1.50, hind=BIRD_LEG, front=Arms(0.75, wing=True, radius=0.15),
        pitch=10, chest=0.24, belly=0.28, rump=0.24, width=0.95, thigh=0.17, shank=0.035, paw=0.05, stance=0.14,
        neck=Neck(1.25, 62, 0.10, 0.05, bones=4, curve=26),
        head=Head(0.09, 0.21, 0.062, 0.03, -8, eye=0.26, eye_side=70, eye_up=24), extras=("beak", "plumage"),
        coat=Coat((0.13, 0.12, 0.12), thighs=(0.86, 0.66, 0.58), legs=(0.86, 0.66, 0.58), head=(0.86, 0.68, 0.60),
                  muzzle=(0.80, 0.55, 0.40), tail_tip=(0.96, 0.95, 0.93), accent=(0.20, 0.18, 0.18)),
    ),
    "chicken": Vertebrate(
        family="bird", speed=0.5, trunk=0.17, leg=0.92, hind=BIRD_LEG, front=Arms(0.95, wing=True, radius=0.20),
        pitch=22, chest=0.33, belly=0.36, rump=0.28, width=0.9, thigh=0.17, shank=0.045, paw=0.055, stance=0.19,
        neck=Neck(0.50, 72, 0.24, 0.13), head=Head(0.17, 0.30, 0.09, 0.025, -10, eye=0.2, eye_side=70, eye_up=18),
        tail=Tail(0.62, 48, 20, 0.24, 0.17, flat=0.4, bones=2), extras=("beak", "comb"),
        coat=Coat((0.94, 0.92, 0.88), legs=(0.93, 0.66, 0.18), feet=(0.93, 0.62, 0.15), muzzle=(0.95, 0.68, 0.18),
                  accent=(0.80, 0.75, 0.68)),
    ),
    "duck": Vertebrate(
        family="bird", speed=0.5, trunk=0.22, leg=0.62, hind=BIRD_LEG, front=Arms(0.95, wing=True, radius=0.17),
        pitch=14, chest=0.30, belly=0.33, rump=0.25, width=1.0, thigh=0.14, shank=0.045, paw=0.075, stance=0.18,
        neck=Neck(0.42, 74, 0.16, 0.12), head=Head(0.175, 0.36, 0.085, 0.075, -10, eye=0.17, eye_side=64, eye_up=24),
        tail=Tail(0.36, 24, 12, 0.16, 0.06, bones=2), extras=("flat beak",),
        coat=Coat((0.62, 0.52, 0.42), belly=(0.80, 0.76, 0.70), legs=(0.95, 0.55, 0.12), feet=(0.95, 0.52, 0.10),
                  head=(0.10, 0.38, 0.24), muzzle=(0.94, 0.76, 0.18), accent=(0.44, 0.36, 0.30), tail_tip=WHITE),
    ),
    "t-rex": Vertebrate(
        family="biped", speed=2.2, trunk=2.3, leg=1.10, hind=THEROPOD_LEG, front=Arms(0.42, 24, 40, 0.042, 0.042),
        pitch=8, chest=0.25, belly=0.27, rump=0.27, width=0.85, thigh=0.23, shank=0.075, paw=0.10, stance=0.22,
        neck=Neck(0.46, 48, 0.20, 0.17, bones=2, curve=-14),
        head=Head(0.20, 0.52, 0.16, 0.125, -8, 1.1, eye=0.13, eye_side=62, eye_up=38),
        tail=Tail(1.75, -4, 8, 0.22, 0.02, bones=6), extras=("jaw", "teeth", "claws"),
        coat=Coat((0.42, 0.44, 0.25), belly=(0.76, 0.70, 0.50), pattern="stripes", accent=(0.27, 0.27, 0.15),
                  iris=(0.95, 0.72, 0.15)),
    ),
    "raptor": Vertebrate(
        family="biped", speed=1.8, trunk=0.62, leg=1.05, hind=THEROPOD_LEG, front=Arms(0.68, 16, 50, 0.048, 0.042),
        pitch=10, chest=0.19, belly=0.19, rump=0.19, width=0.8, thigh=0.16, shank=0.045, paw=0.062, stance=0.15,
        neck=Neck(0.58, 58, 0.13, 0.09, bones=2, curve=-12),
        head=Head(0.12, 0.40, 0.085, 0.05, -8, eye=0.2, eye_side=60, eye_up=36),
        tail=Tail(1.9, 4, 6, 0.13, 0.012, bones=6), extras=("jaw", "claws"),
        coat=Coat((0.66, 0.46, 0.26), belly=(0.90, 0.80, 0.62), pattern="stripes", accent=(0.30, 0.17, 0.10),
                  iris=(0.95, 0.80, 0.20)),
    ),
    "lizard": Vertebrate(
        family="quadruped", speed=0.4, trunk=0.20, leg=0.30, hind=SPRAWL_LEG, front=SPRAWL_LEG,
        chest=0.125, belly=0.14, rump=0.115, width=1.3, sag=0, thigh=0.075, shank=0.042, paw=0.05, stance=0.12,
        sprawl=68, neck=Neck(0.16, 12, 0.11, 0.11),
        head=Head(0.125, 0.26, 0.11, 0.06, -6, 0.8, eye=0.22, eye_side=60, eye_up=42),
        tail=Tail(1.75, -8, 10, 0.10, 0.012, bones=6), extras=("spikes",),
        coat=Coat((0.35, 0.58, 0.24), belly=(0.78, 0.82, 0.52), pattern="spots", accent=(0.20, 0.36, 0.14),
                  iris=(0.92, 0.80, 0.25)),
    ),
    "crocodile": Vertebrate(
        family="quadruped", speed=0.7, trunk=1.2, leg=0.24, hind=SPRAWL_LEG, front=SPRAWL_LEG,
        chest=0.15, belly=0.17, rump=0.145, width=1.35, sag=0, thigh=0.085, shank=0.05, paw=0.06, stance=0.14,
        sprawl=58, neck=Neck(0.20, 5, 0.14, 0.125),
        head=Head(0.12, 0.52, 0.095, 0.06, -4, 0.8, eye=0.26, eye_side=50, eye_up=58),
        tail=Tail(1.5, -4, 2, 0.13, 0.015, bones=6), extras=("jaw", "teeth", "spikes"),
        coat=Coat((0.30, 0.36, 0.20), belly=(0.72, 0.70, 0.48), pattern="patches", accent=(0.22, 0.27, 0.15),
                  iris=(0.85, 0.78, 0.30)),
    ),
}  # fmt: skip
"""Natural sizes; the first of a family is its plainest."""
