"""Promises of the package as a whole: cheap import, quick help, shapes that are really checked."""

import builtins
import resource
import subprocess
import symtable
import sys
from pathlib import Path

import pytest
import torch
from jaxtyping import TypeCheckError

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for folder in ("src", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))


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


def _unknown_globals(table: symtable.SymbolTable, known: set[str]) -> list[str]:
    """Names that functions look up in their module and that are not there."""
    own = table.get_symbols() if table.get_type() == "function" else ()
    missing = [s.get_name() for s in own if s.is_global() and s.is_referenced() and s.get_name() not in known]
    return missing + [name for child in table.get_children() for name in _unknown_globals(child, known)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_in_a_function_is_defined(path: Path) -> None:
    """The linters are told to ignore undefined names, because dimensions of shapes are none; so it is checked here."""
    text = path.read_text()
    module = symtable.symtable(text, str(path), "exec")
    known = {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported()} | set(dir(builtins))
    known |= {"__file__", "__name__", "__doc__"}
    assert _unknown_globals(module, known) == []
