"""How a character file is read; light, so that the command line can show it without numpy."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from kinema.options import named

Axis = Literal["+x", "-x", "+y", "-y", "+z", "-z"]
Ground = Literal["none", "flat"]


@dataclass(frozen=True)
class FileOptions:
    """How a character file is read; what is not given is found."""

    skeleton: Annotated[Path | None, named("FILE")] = None
    """Joints for a mesh without a rig: GLB, BVH, BLEND, or JSON with name, parent, head and tail of each."""
    up: Annotated[Axis | None, named("AXIS")] = None
    """Up axis of the file: +x -x +y -y +z -z."""
    facing: Annotated[Axis | None, named("AXIS")] = None
    """The file's axis that the character looks along."""
    scale: Annotated[float | None, named("METRES")] = None
    """Metres per unit of the file."""
    ground: Annotated[float | Ground | None, named("HEIGHT|none|flat")] = None
    """Height of the ground along the file's up axis in its units; none: it swims or flies; flat: it does not."""
    legs: Annotated[str | None, named("A,B,...")] = None
    """A joint of each leg (its foot or its top), separated by commas, if they are found wrong; none: it has no legs."""

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `asset.load.load`."""
        return asdict(self)
