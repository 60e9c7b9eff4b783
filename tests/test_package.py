"""Promises of the package as a whole: cheap import, quick help, shapes that are really checked."""

import resource
import subprocess
import sys

import pytest
import torch
from jaxtyping import TypeCheckError


def test_import_is_cheap() -> None:
    heavy = ("torch", "diffusers", "viser", "numpy")
    code = f"import sys, kinema.cli.main; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_shapes_are_checked() -> None:
    """If this fails, no annotation in the project is worth anything: see `--jaxtyping-packages` in pyproject.toml."""
    from kinema.geometry.transforms import quaternion_to_matrix

    with pytest.raises(TypeCheckError):
        quaternion_to_matrix(torch.zeros(5, 3))


def test_help_is_quick() -> None:
    def cpu_seconds() -> float:
        # CPU time, because the clock on the wall also measures whatever else the machine is doing.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "kinema", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    assert min(cpu_seconds() for _ in range(3)) < 0.5
