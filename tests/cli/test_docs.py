"""What README and docs print is true: commands parse (and, slowly, work as printed), the code of the how-tos runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kinema.asset.load import load
from kinema.cli.parse import parse

ROOT = Path(__file__).parents[2]
PLACEHOLDER = re.compile(r"\.\.\.|[A-Z]{3,}|<|\$|\||--help|^kinema [a-z-]+( suite| report)?$")
"""A call in running text that is only a name, or has something to be filled in."""
NOT_RUN = re.compile(r"kinema view|\.fbx|--live|--prior")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def shell_lines(page: Path) -> list[str]:
    """Lines of shell blocks, those inside of lists too, without comments and placeholders."""
    text = re.sub(r"\\\n\s*", " ", page.read_text())
    found = re.findall(r"^ *```(?:sh)?\n(.*?)^ *```", text, re.M | re.S)
    lines = [line.strip() for block in found for line in block.splitlines()]
    return [line for line in lines if line.startswith(("kinema ", "python ")) and "..." not in line]


def commands(page: Path) -> list[str]:
    """Calls of `kinema`, in blocks and in running text."""
    inline = [line for line in re.findall(r"`(kinema [^`\n]+)`", page.read_text()) if not PLACEHOLDER.search(line)]
    return [line for line in (*shell_lines(page), *inline) if line.startswith("kinema ")]


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
    parts = ["![", "**Kinema animates", "was trained", "make demo", "## Which prompts work", "## Your own character"]
    parts += ["## Into Blender", "## What you get", "## Formats", "## Priors", "## Limitations", "## How it works"]
    places = [text.index(part) for part in [*parts, "mermaid", "## Results", "## Citation"]]
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
    from kinema.export import targets
    from kinema.export import write as module
    from kinema.files import replacing

    assert set(module.FORMATS) == set(targets.SUFFIXES)

    code = next(block for block in blocks(ROOT / "docs" / "extending.md", "python") if "_write_csv" in block)
    names = {**vars(module), "replacing": replacing}
    exec(code, names)
    monkeypatch.setitem(module.FORMATS, ".csv", names["_write_csv"])
    monkeypatch.setattr(targets, "SUFFIXES", (*targets.SUFFIXES, ".csv"))
    module.write(tmp_path / "fox.csv", creature("fox", detail="low"))
    assert len((tmp_path / "fox.csv").read_text().split(",")) == 3


@pytest.mark.slow
def test_readme_line_by_line(tmp_path: Path) -> None:
    """Every line as printed, one after the other, in an empty folder; then the Python. `make` is what runs this."""
    readme = ROOT / "README.md"
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    # The viewer runs until Ctrl-C, and FBX needs Blender; both have tests of their own.
    said = [line for line in commands(readme) if line not in shell_lines(readme) and not NOT_RUN.search(line)]
    for line in (*shell_lines(readme), *said):
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env={"PATH": path, "HOME": str(tmp_path)},
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, f"{line}: {done.stderr}"
        print(line, done.stdout, sep="\n")
    for code in blocks(readme, "python"):
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    both = load(tmp_path / "runs" / "wolf-both" / "motion.glb")
    assert {clip.name for clip in both.clips} == {"a-wolf-is-walking", "a-wolf-is-running"}
