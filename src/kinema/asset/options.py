"""How a character file is read, and how joints and clips are called in one that is written. Light: no numpy."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from kinema.errors import KinemaError
from kinema.options import Flag, named

Axis = Literal["+x", "-x", "+y", "-y", "+z", "-z"]
Ground = Literal["none", "flat"]
Names = Literal["keep", "mixamo", "unreal", "unity", "vrm", "godot"]


@dataclass(frozen=True)
class FileOptions:
    """How the file is read; what is not given is found."""

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


@dataclass(frozen=True)
class NameOptions:
    """How joints and clips are called in the files that are written."""

    names: Names = "keep"
    """Joint names of an engine, from the roles of the joints; those without a role keep theirs."""
    root_bone: Flag = False
    """Add a bone at the origin that carries the travel; the hips move the body above it."""
    clip_name: Annotated[str | None, named("NAME")] = None
    """Name of the clip in the file; of several clips NAME,NAME,..."""

    def clip_names(self, count: int) -> tuple[str, ...] | None:
        """A name for each of so many clips, or None if none were given."""
        if self.clip_name is None:
            return None
        names = tuple(name.strip() for name in self.clip_name.split(",")) if count > 1 else (self.clip_name.strip(),)
        if len(names) != count or not all(names):
            raise KinemaError(f"--clip-name {self.clip_name}: names {len(names)} clips, but there are {count}")
        return names


AS_NAMED = NameOptions()
