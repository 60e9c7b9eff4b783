"""Native kernel of `kinema.geometry.contact` (native/contact). Arrays are dense; faces and groups are int32."""

from numpy import ndarray

class SelfContact:
    """A mesh at rest (float64), prepared for its poses."""

    def __init__(self, faces: ndarray, group: ndarray, rest: ndarray, near: float) -> None: ...
    def pairs(self, poses: ndarray, threads: int) -> ndarray:
        """Rows (frame, face, face) of poses [frames, vertices, 3] (float64), ascending, the lower face first."""
