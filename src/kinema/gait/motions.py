"""The table of motions: one row per gait or action, in the files of `rows/`.

The order is the order in which training data and the prompt classifier count them.
"""

from kinema.errors import KinemaError
from kinema.gait.kinds import MotionKind
from kinema.gait.rows.actions import ACTIONS
from kinema.gait.rows.gaits import GAITS
from kinema.gait.rows.waves import FLIGHTS, UNDULATIONS

MOTIONS: dict[str, MotionKind] = {row.name: row for row in (*GAITS, *ACTIONS, *UNDULATIONS, *FLIGHTS)}


def find_motion(name: str) -> MotionKind:
    """The row of that name."""
    if name not in MOTIONS:
        raise KinemaError(f"motion {name!r}: not one of {', '.join(MOTIONS)}")
    return MOTIONS[name]
