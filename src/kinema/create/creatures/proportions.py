"""What every family of creatures says about itself in numbers, and the protocol that its rows of the table follow.

A row of the species table is a frozen dataclass of a family (`vertebrate`, `arthropod`). Its fields say how they vary:
`Number`s (lengths, ratios) by a factor, `Degrees` by an addend, everything else not at all.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from kinema.create.creatures.body import Body, Number, Rgb

Degrees = Annotated[Number, "degrees"]
Speed = Annotated[Number, "m/s"]
Row = TypeVar("Row")


@dataclass(frozen=True)
class Coat:
    """Colours by region, sRGB."""

    base: Rgb = (0.55, 0.40, 0.28)
    belly: Rgb | None = None
    thighs: Rgb | None = None
    legs: Rgb | None = None
    """Lower half of the limbs ("socks")."""
    feet: Rgb | None = None
    muzzle: Rgb | None = None
    muzzle_from: Number = 0.1
    """Where the muzzle's colour begins between skull and nose; from below 0.5 on the upper side stays as it is."""
    head: Rgb | None = None
    ear: Rgb | None = None
    nose: Rgb = (0.10, 0.08, 0.08)
    eye: Rgb = (0.05, 0.04, 0.04)
    iris: Rgb | None = None
    """Colour of the eyeball around a dark pupil; None: eyes are beads of one colour."""
    tail: Rgb | None = None
    tail_tip: Rgb | None = None
    mane: Rgb | None = None
    pattern: Literal["plain", "patches", "stripes", "spots", "net"] = "plain"
    accent: Rgb = (0.2, 0.2, 0.2)
    """Second colour of the pattern."""


@runtime_checkable
class Proportions(Protocol):
    """One row of the species table: a frozen dataclass with `family`, `speed` (a typical walk) and `coat`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def family(self) -> str: ...
    @property
    def speed(self) -> Number: ...
    @property
    def coat(self) -> Coat: ...

    # Joints, blobs and shells, standing on y = 0 and facing +Z.
    def build(self) -> Body: ...
    # The row with more (factor above 1) or less of a quality: size, youth, leg, girth, neck or tail.
    def shaped(self, quality: str, factor: float) -> "Proportions": ...
    # These varied proportions of `row`, changed where the creature could not stand.
    def limited(self, row: Any) -> "Proportions": ...
    # A mean of the two rows is a creature that stands on its legs.
    def blends_with(self, other: object) -> bool: ...


def scaled(row: Row, factors: dict[str, float]) -> Row:
    """The row with some fields multiplied, parts' fields by their path ("head.radius"); absent parts stay absent."""
    for path, factor in factors.items():
        name, _, inner = path.partition(".")
        value = getattr(row, name)
        if value is not None:
            row = replace(row, **{name: scaled(value, {inner: factor}) if inner else value * factor})  # pyright: ignore
    return row
