"""docs/akd.md points at the lines of code that it speaks of, and at tests that exist.

`python tests/test_akd_table.py` writes the numbers of lines anew where code has moved.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/akd.md"
ROW = re.compile(r"^\| (.+?) \| `([\w/.]+):(\d+)` `(.+?)` \| (.+) \| (.+?) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text())
KINDS = ("same", "different on purpose", "not stated")


def lines_of(file: str, symbol: str) -> list[int]:
    """Numbers of the lines of a source file that hold a symbol."""
    lines = (ROOT / "src/kinema" / file).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if symbol in line]


def renumbered(page: str) -> str:
    """The page with each row's line where its symbol is, the nearest where it is in several."""

    def row(match: re.Match[str]) -> str:
        file, line, symbol = match[2], int(match[3]), match[4]
        nearest = min(lines_of(file, symbol), key=lambda number: abs(number - line), default=line)
        return match[0].replace(f"`{file}:{line}`", f"`{file}:{nearest}`")

    return ROW.sub(row, page)


def test_every_row_of_the_table_is_checked() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert len(lines) - 2 == len(ROWS)  # its head and the dashes
    assert len(ROWS) > 35


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:50])
def test_a_row_is_true(row: tuple[str, ...]) -> None:
    _, file, line, symbol, verdict, tests = row
    found = lines_of(file, symbol)
    assert int(line) in found, f"{symbol} is in {file}:{found}; python tests/test_akd_table.py writes that"
    assert verdict.startswith(KINDS)
    assert "accident" not in verdict
    # What differs has a reason, what the paper leaves open a value.
    assert verdict == "same" or len(verdict) > len("different on purpose: ")
    named = re.findall("`(.+?)`", tests)
    assert named
    assert all((ROOT / test).is_file() for test in named)


def test_rows_follow_code_that_moves() -> None:
    page = PAGE.read_text()
    file, line, symbol = ROWS[3][1:4]
    moved = page.replace(f"`{file}:{line}` `{symbol}`", f"`{file}:{int(line) + 7}` `{symbol}`")
    assert moved != page
    assert renumbered(moved) == page


if __name__ == "__main__":
    PAGE.write_text(renumbered(PAGE.read_text()))
