"""Kinema animates a 3D character from a sentence.

    from kinema import animate, creature, load

Names are looked up when they are used, so that `import kinema` itself costs nothing.
"""

import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Some virtual machines advertise AMX tiles and kill the process that uses them (bfloat16 in oneDNN). We gain nothing
# from tiles: what runs on a CPU is float32.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
# torch's workers spin for milliseconds while they wait, and take the cores from our own threads; put to sleep at once
# (OMP_WAIT_POLICY=passive) they wake so late that a second thread gains nothing. A few microseconds of spinning bridge
# the gap between two operations and no more.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

if TYPE_CHECKING:
    from kinema.asset.character import Character
    from kinema.asset.load import load
    from kinema.create.creatures import creature
    from kinema.distill.config import Animate
    from kinema.errors import KinemaError
    from kinema.export.write import write
    from kinema.job.folder import Animation
    from kinema.job.folder import run as animate
    from kinema.motion.motion import Motion
    from kinema.posespace.space import PoseSpace
    from kinema.rig.kinematics import Rig
    from kinema.view.notebook import play as show

_HOME = {
    "Animate": "kinema.distill.config",
    "Animation": "kinema.job.folder",
    "Character": "kinema.asset.character",
    "KinemaError": "kinema.errors",
    "Motion": "kinema.motion.motion",
    "PoseSpace": "kinema.posespace.space",
    "Rig": "kinema.rig.kinematics",
    "animate": "kinema.job.folder:run",
    "creature": "kinema.create.creatures",
    "load": "kinema.asset.load",
    "show": "kinema.view.notebook:play",
    "write": "kinema.export.write",
}
__all__ = [
    "Animate",
    "Animation",
    "Character",
    "KinemaError",
    "Motion",
    "PoseSpace",
    "Rig",
    "animate",
    "creature",
    "load",
    "show",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kinema' has no attribute {name!r}")
    import importlib

    module, _, function = _HOME[name].partition(":")
    return getattr(importlib.import_module(module), function or name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
