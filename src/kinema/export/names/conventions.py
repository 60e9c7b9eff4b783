"""What each engine calls the joints of a body, and which of them its humanoids must have.

Names are templates: {Side} is Left or Right, {side} left or right, {s} l or r, {i} a number that counts from one.
"""

from dataclasses import dataclass

from kinema.asset.options import Names

FINGERS = ("thumb", "index", "middle", "ring", "little")


@dataclass(frozen=True)
class Convention:
    """The names of one engine."""

    root: str
    """The bone at the origin that carries root motion."""
    hips: str
    spine: tuple[str, ...]
    """From the hips up. A short spine has the first of them, a long one `more_spine` before the last two."""
    more_spine: str
    neck: str
    more_neck: str
    head: str
    jaw: str
    eye: str
    leg: tuple[str, str, str, str]
    """Upper, lower, foot, toes."""
    arm: tuple[str, str, str]
    """Upper, lower, hand."""
    shoulder: str
    fingers: tuple[str, ...]
    """As `FINGERS`; {p} is the phalanx."""
    thumb: tuple[str, ...]
    """Phalanges of the thumb from the hand to the tip."""
    phalanges: tuple[str, ...]
    """Those of the other fingers."""
    chain: str
    """Joints of everything else; {word} is Leg, LegA, Arm, Wing, Fin or Tail, and {Side} is empty in the middle."""
    creatures_in_chains: bool = False
    """Legs and arms of a body that is no humanoid are chains, too."""


_HANDS = ("{Side}Thumb{p}", "{Side}Index{p}", "{Side}Middle{p}", "{Side}Ring{p}", "{Side}Little{p}")
UNITY = Convention(
    root="Root", hips="Hips", spine=("Spine", "Chest", "UpperChest"), more_spine="Spine{i}",
    neck="Neck", more_neck="Neck{i}", head="Head", jaw="Jaw", eye="{Side}Eye",
    leg=("{Side}UpperLeg", "{Side}LowerLeg", "{Side}Foot", "{Side}Toes"),
    arm=("{Side}UpperArm", "{Side}LowerArm", "{Side}Hand"), shoulder="{Side}Shoulder", fingers=_HANDS,
    thumb=("Proximal", "Intermediate", "Distal"), phalanges=("Proximal", "Intermediate", "Distal"),
    chain="{Side}{word}{i}",
)  # fmt: skip
GODOT = Convention(**{**vars(UNITY), "thumb": ("Metacarpal", "Proximal", "Distal")})
VRM = Convention(
    root="root", hips="hips", spine=("spine", "chest", "upperChest"), more_spine="spine{i}",
    neck="neck", more_neck="neck{i}", head="head", jaw="jaw", eye="{side}Eye",
    leg=("{side}UpperLeg", "{side}LowerLeg", "{side}Foot", "{side}Toes"),
    arm=("{side}UpperArm", "{side}LowerArm", "{side}Hand"), shoulder="{side}Shoulder",
    fingers=("{side}Thumb{p}", "{side}Index{p}", "{side}Middle{p}", "{side}Ring{p}", "{side}Little{p}"),
    thumb=("Metacarpal", "Proximal", "Distal"), phalanges=("Proximal", "Intermediate", "Distal"),
    chain="{side}{word}{i}",
)  # fmt: skip
MIXAMO = Convention(
    root="mixamorig:Root", hips="mixamorig:Hips", spine=("mixamorig:Spine", "mixamorig:Spine1", "mixamorig:Spine2"),
    more_spine="", neck="mixamorig:Neck", more_neck="mixamorig:Neck{j}", head="mixamorig:Head", jaw="mixamorig:Jaw",
    eye="mixamorig:{Side}Eye",
    leg=("mixamorig:{Side}UpLeg", "mixamorig:{Side}Leg", "mixamorig:{Side}Foot", "mixamorig:{Side}ToeBase"),
    arm=("mixamorig:{Side}Arm", "mixamorig:{Side}ForeArm", "mixamorig:{Side}Hand"),
    shoulder="mixamorig:{Side}Shoulder",
    fingers=tuple(f"mixamorig:{{Side}}Hand{word}{{p}}" for word in ("Thumb", "Index", "Middle", "Ring", "Pinky")),
    thumb=("1", "2", "3", "4"), phalanges=("1", "2", "3", "4"), chain="mixamorig:{Side}{word}{i}",
)  # fmt: skip
UNREAL = Convention(
    root="root", hips="pelvis", spine=(), more_spine="spine_{i:02d}", neck="neck_01", more_neck="neck_{i:02d}",
    head="head", jaw="jaw", eye="eye_{s}",
    leg=("thigh_{s}", "calf_{s}", "foot_{s}", "ball_{s}"), arm=("upperarm_{s}", "lowerarm_{s}", "hand_{s}"),
    shoulder="clavicle_{s}",
    fingers=("thumb_{p}_{s}", "index_{p}_{s}", "middle_{p}_{s}", "ring_{p}_{s}", "pinky_{p}_{s}"),
    thumb=("01", "02", "03"), phalanges=("01", "02", "03"), chain="{Side}{word}_{i:02d}", creatures_in_chains=True,
)  # fmt: skip
CONVENTIONS: dict[Names, Convention] = {
    "mixamo": MIXAMO, "unreal": UNREAL, "unity": UNITY, "vrm": VRM, "godot": GODOT,
}  # fmt: skip


def _both(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.format(Side=side, side=side.lower()) for side in ("Left", "Right") for name in names)


REQUIRED: dict[Names, tuple[str, ...]] = {
    # VRM 1.0: the fifteen bones without which a humanoid is none.
    "vrm": ("hips", "spine", "head", *_both((*VRM.leg[:3], *VRM.arm))),
    # Godot's SkeletonProfileHumanoid wants shoulders as well.
    "godot": ("Hips", "Spine", "Head", *_both((*GODOT.leg[:3], GODOT.shoulder, *GODOT.arm))),
    # Unity's avatars: the same as VRM, which grew out of them.
    "unity": ("Hips", "Spine", "Head", *_both((*UNITY.leg[:3], *UNITY.arm))),
}
"""Bones that a humanoid must have."""
