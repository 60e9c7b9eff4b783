"""Every command explains itself: a docstring under each option, all of them in --help, completion for three shells."""

import ast
import dataclasses
import inspect
import json
import subprocess
import sys
import textwrap

import pytest

from kinema.asset.options import FileOptions
from kinema.cli.main import main
from kinema.cli.parse import COMMANDS, Kinema
from kinema.view.server import Address


def dataclasses_of_commands() -> list[type]:
    return [Kinema, FileOptions, Address, *(cls for cls, _ in COMMANDS.values())]


def documented(cls: type) -> dict[str, str]:
    """Docstring under each field, those of the classes above included."""
    above = cls.__mro__[1]
    result = documented(above) if dataclasses.is_dataclass(above) else {}
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body  # type: ignore[attr-defined]
    for statement, following in zip(body, [*body[1:], None]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = getattr(getattr(following, "value", None), "value", None)
            result[statement.target.id] = text if isinstance(text, str) else ""
    return result


@pytest.mark.parametrize("cls", dataclasses_of_commands(), ids=lambda cls: cls.__name__)
def test_every_option_has_a_text(cls: type) -> None:
    assert cls.__doc__
    assert cls.__doc__.strip()
    texts = documented(cls)
    assert set(texts) == {field.name for field in dataclasses.fields(cls)}
    assert [name for name, text in texts.items() if len(text.strip()) < 4] == []
    # tyro keeps the line breaks of the source, wherever the terminal would break.
    assert [name for name, text in texts.items() if "\n" in text] == []


def names_of_commands() -> dict[str, type]:
    return {name: cls for name, (cls, _) in COMMANDS.items()}


@pytest.mark.parametrize("name", names_of_commands())
def test_help_shows_every_option(name: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    cls = names_of_commands()[name]
    for field in dataclasses.fields(cls):
        if "Positional" in str(field.type) or field.name in (
            "asset",
            "file",
            "prompt",
            "words",
            "source",
            "target",
            "shell",
        ):
            continue
        groups = {"reading": FileOptions, "listen": Address}
        inner = dataclasses.fields(groups[field.name]) if field.name in groups else (field,)
        for option in inner:
            assert f"--{option.name.replace('_', '-')}" in shown
    for common in ("--quiet", "--verbose", "--json", "-q", "-v"):
        assert common in shown
    assert "{None}" not in shown


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", ["", *names_of_commands()])
def test_help_fits_the_terminal(
    name: str, width: int, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit):
        main([*name.split(), "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert [line for line in lines if "(default: None)" in line or (not line.strip("│ ") and "│" in line)] == []


def test_overview_tells_the_exit_codes(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert "Exit codes" in shown
    assert all(name in shown for name in names_of_commands())
    main(["--version"])
    assert capsys.readouterr().out.startswith("kinema 0.")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["completion", shell])
    assert stop.value.code in (0, None)
    script = capsys.readouterr().out
    assert "kinema" in script
    assert "train-prior" in script


def test_completion_works_in_bash() -> None:
    """The script really completes: `kinema cre<TAB>`."""
    code = (
        f'eval "$({sys.executable} -m kinema completion bash)"; COMP_WORDS=(kinema cre); COMP_CWORD=1;'
        ' f=$(complete -p kinema | sed "s/.*-F \\([^ ]*\\).*/\\1/"); $f; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["creature"], done.stderr


def test_quiet_says_nothing_and_json_says_all(tmp_path, capsys: pytest.CaptureFixture) -> None:
    main(["creature", "fox", "-o", str(tmp_path / "fox.glb"), "-q"])
    assert capsys.readouterr() == ("", "")
    main(["--json", "creature", "fox", "-o", str(tmp_path / "fox.glb"), "-q"])
    assert json.loads(capsys.readouterr().out) == {"file": str(tmp_path / "fox.glb")}
    main(["inspect", str(tmp_path / "fox.glb"), "--json"])
    assert json.loads(capsys.readouterr().out)["joints"][0]["parent"] is None
    main(["creature", "--json"])
    assert "fox" in json.loads(capsys.readouterr().out)["species"]


def test_bare_kinema_shows_the_help(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 0
    assert "Exit codes" in capsys.readouterr().out
