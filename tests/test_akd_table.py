"""docs/akd.md points at code and tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/akd.md").read_text()
ROWS = re.findall(r"\| `([\w/.]+):(\d+)` `(.+?)` \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
NEAR = 15
"""Lines that code may have moved since the table was written."""


def test_the_table_has_its_rows() -> None:
    assert len(ROWS) > 25


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2])
def test_a_row_is_true(row: tuple[str, ...]) -> None:
    file, line, token, verdict, tests = row
    lines = (ROOT / "src/kinema" / file).read_text().splitlines()
    assert any(token in text for text in lines[max(0, int(line) - NEAR) : int(line) + NEAR])
    assert re.match("same|different on purpose|not stated", verdict)
    assert all((ROOT / test).exists() for test in re.findall("`(.+?)`", tests))
