"""Promises of the package as a whole: cheap import, quick help, shapes that are really checked."""

import subprocess
import sys
import time

import pytest
import torch
from jaxtyping import TypeCheckError


def test_import_is_cheap() -> None:
    heavy = ("torch", "diffusers", "viser", "numpy")
    code = f"import sys, kinema.cli; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_shapes_are_checked() -> None:
    """If this fails, no annotation in the project is worth anything: see `--jaxtyping-packages` in pyproject.toml."""
    from kinema.transforms import quaternion_to_matrix

    with pytest.raises(TypeCheckError):
        quaternion_to_matrix(torch.zeros(5, 3))


def test_help_is_quick() -> None:
    def seconds() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "kinema", "--help"], capture_output=True, check=True)
        return time.perf_counter() - begun

    # CPU time of the child would be fairer on a busy machine; the best of several tries is close to it.
    assert min(seconds() for _ in range(5)) < 0.5
