"""Native kernel of `kinema.geometry.distance_field` (native/field). Arrays are dense float64, in the unit cube."""

from numpy import ndarray

def distances(
    corners: ndarray,
    face_normals: ndarray,
    edge_normals: ndarray,
    corner_normals: ndarray,
    points: ndarray,
    result: ndarray,
) -> None:
    """Signed distances of points to the mesh, negative inside."""

def clear(
    corners: ndarray,
    face_normals: ndarray,
    edge_normals: ndarray,
    corner_normals: ndarray,
    from_points: ndarray,
    to_points: ndarray,
    tolerance: float,
    slack: float,
    steps: int,
    result: ndarray,
) -> None:
    """`result` (uint8) is 1 for segments on which the field is at most `slack`."""
