"""Damaged files load or give one line; they never crash, hang, eat the memory or lead out of their folder."""

import resource
from pathlib import Path

import pytest
from mutated_files import KINDS, mutated, watch

QUICK = 500
"""Files of `benchmarks/fuzz.py` that every test run reads; it reads 4,000."""


@pytest.mark.parametrize("name", KINDS)
def test_an_undamaged_file_of_each_kind_is_read(name: str, tmp_path: Path) -> None:
    for file, content in KINDS[name].files().items():
        (tmp_path / file).write_bytes(content)
    KINDS[name].read(tmp_path / next(iter(KINDS[name].files())))


@pytest.mark.filterwarnings("ignore")
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    bugs, read, refused = [], 0, 0
    for seed in range(QUICK):
        kind, path, reader = mutated(seed, tmp_path / "case")
        ending = watch(path, reader)
        read, refused = read + (not ending.message), refused + bool(ending.message)
        if ending.bug:
            bugs.append(f"seed {seed}, {kind}: {ending.bug} {ending.message}")
    assert bugs == []
    assert capfd.readouterr() == ("", "")
    # Damage that is always refused, or never, tests little.
    assert read > QUICK // 10
    assert refused > QUICK // 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 * 2**20  # [kB]
