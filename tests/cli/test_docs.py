"""What README and docs print is true: commands parse (and, slowly, work as printed), the code of the how-tos runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kinema.cli.parse import parse

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """Lines of code blocks that begin with `kinema`."""
    lines = [line.strip() for block in re.findall(r"^```(?:sh)?\n(.*?)^```", page.read_text(), re.M | re.S)
             for line in block.splitlines()]  # fmt: skip
    return [line for line in lines if line.startswith("kinema ") and "..." not in line]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_parse(page: Path) -> None:
    for line in commands(page):
        words = shlex.split(line, comments=True)[1:]
        if words != ["--version"]:
            parse([word for word in words if not word.startswith("$")])


def test_links_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_has_its_parts_in_order() -> None:
    text = (ROOT / "README.md").read_text()
    parts = ["![", "**Kinema animates", "make demo", "## What you get", "## Formats", "## Priors", "## Results"]
    places = [text.index(part) for part in [*parts, "## Limitations", "## How it works", "mermaid", "## Citation"]]
    assert places == sorted(places)


def test_the_new_species_of_the_how_to_stands() -> None:
    import numpy as np

    from kinema.create.creatures.generate import generate
    from kinema.create.creatures.vertebrate import species

    row = next(block for block in blocks(ROOT / "docs" / "extending.md", "python") if "okapi" in block)
    rows = eval("{" + row + "}", vars(species))
    body = generate("okapi", rows["okapi"], detail="low")
    assert body.skeleton is not None
    assert abs(float(body.mesh.vertices[:, 1].min())) < 0.01
    assert np.isfinite(body.mesh.vertices).all()


def test_the_new_format_of_the_how_to_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kinema.create.creatures import creature
    from kinema.export import write as module
    from kinema.files import replacing

    code = next(block for block in blocks(ROOT / "docs" / "extending.md", "python") if "_write_csv" in block)
    names = {**vars(module), "replacing": replacing}
    exec(code, names)
    monkeypatch.setitem(module.FORMATS, ".csv", names["_write_csv"])
    module.write(tmp_path / "fox.csv", creature("fox", detail="low"))
    assert len((tmp_path / "fox.csv").read_text().split(",")) == 3


@pytest.mark.slow
def test_readme_line_by_line(tmp_path: Path) -> None:
    """Every command as printed, one after the other, in an empty folder; then the Python."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    for line in commands(ROOT / "README.md"):
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env={"PATH": path, "HOME": str(tmp_path)},
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, f"{line}: {done.stderr}"
    for code in blocks(ROOT / "README.md", "python"):
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
