"""Every command explains itself: a docstring under each option, all of them in --help, completion for three shells."""

import ast
import dataclasses
import inspect
import json
import re
import shlex
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import get_type_hints

import pytest

from kinema.asset.options import FileOptions
from kinema.cli.main import main
from kinema.cli.parse import COMMANDS, Kinema, parse
from kinema.cli.usage import COMMON, options_of
from kinema.distill.config import RENAMED
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
    # A group of options has its text in its own class, unless a command says it otherwise.
    groups = {name: kind.__doc__ for name, kind in get_type_hints(cls).items() if dataclasses.is_dataclass(kind)}
    texts = {name: text or groups.get(name) or "" for name, text in documented(cls).items()}
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
        kind = get_type_hints(cls)[field.name]
        inner = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else (field,)
        for option in inner:
            assert re.search(rf"--{RENAMED.get(option.name, option.name).replace('_', '-')}\b(?!-)", shown), option.name
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
    main(["completion", shell])
    script = capsys.readouterr().out
    assert "kinema" in script
    assert "train-prior" in script


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    done = subprocess.run([sys.executable, "-m", "kinema", "completion", "bash"], capture_output=True, text=True)
    path = tmp_path_factory.mktemp("shell") / "completion.bash"
    path.write_text(done.stdout)
    return str(path)


COMPLETIONS = [
    (["cre"], {"create", "creature"}),
    (["animate", "fox", "walk", "--prior", "cogvideox-2"], {"cogvideox-2b"}),
    (["animate", "--prior", "na"], {"nano"}),
    (["animate", "--preset", ""], {"default", "fast", "paper", "gpu"}),
    (["animate", "--phys"], {"--physics", "--physics-iterations"}),
    (["-q", "animate", "--no-ph"], {"--no-physics"}),
    (["convert", "my"], {"my fox.glb", "my folder"}),
    (["animate", "my folder/"], {"my folder/wolf.glb"}),
    (["view", "wolf"], {"wolf.glb"}),
    (["animate", "wolf.glb", "x", "-o", "my fol"], {"my folder"}),
    (["completion", "f"], {"fish"}),
]


@pytest.mark.parametrize(("words", "expected"), COMPLETIONS, ids=lambda value: " ".join(sorted(value)))
def test_bash_completes(words: list[str], expected: set[str], bash_script: str, tmp_path: Path) -> None:
    for name in ("my fox.glb", "my folder/wolf.glb", "wolf.glb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    code = (
        f"source {bash_script}; COMP_WORDS=(kinema {shlex.join(words)}); COMP_CWORD={len(words)}; _kinema;"
        r' printf "%s\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr == ""
    assert set(done.stdout.splitlines()) == expected


def test_what_is_completed_is_what_the_parser_takes(capsys: pytest.CaptureFixture) -> None:
    """Every option that is completed stands in the command's help, and the other way round."""
    for name, cls in names_of_commands().items():
        with pytest.raises(SystemExit):
            main([name, "--help"])
        shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
        listed = {
            option for line in re.findall(r"^[│ ] (-.*)", shown, re.M) for option in re.findall(r"--[a-z-]+", line)
        }
        known = set(options_of(cls)) | set(COMMON)
        assert known <= listed | {"--no-" + option[2:] for option in listed}, name
        assert {option for option in listed if re.search(rf"^[│ ] {option}\b", shown, re.M)} <= known, name


def test_options_that_are_named_otherwise_than_their_field_are_taken() -> None:
    command = parse(["animate", "fox", "a fox flips", "--as", "roll", "--anyway"]).command
    assert (command.as_motion, command.anyway) == ("roll", True)


MISTAKES = [
    (["animte", "fox", "x"], "unknown command 'animte'; did you mean animate?"),
    (["animate", "fox", "x", "--sed", "3"], "animate has no option --sed; did you mean --seed?"),
    (
        ["animate", "fox", "x", "--preset", "fst"],
        "--preset fst: must be default, fast, paper or gpu; did you mean fast?",
    ),
    (["animate", "fox", "x", "--preset=fst"], "--preset fst: must be default, fast, paper or gpu; did you mean fast?"),
    (["animate", "fox", "x", "--speed", "fast"], "--speed fast: must be a number, such as 1.5"),
    (["animate", "fox", "x", "--frames", "2.5"], "--frames 2.5: must be a whole number, such as 12"),
    (["render", "fox", "--look", "colour", "-o", "x.png"], "--look colour: must be color or canonical; did you mean"),
    (["rig", "a.obj", "-o", "b.glb", "--body", "brd"], "--body brd: must be biped, quadruped, bird, winged"),
    (["completion", "csh"], "invalid choice 'csh'"),
    (["--seed", "3"], "no command before --seed: kinema COMMAND --seed ... (kinema --help lists the commands)"),
]


@pytest.mark.parametrize(("words", "line"), MISTAKES, ids=lambda value: " ".join(value))
def test_a_wrong_word_is_one_plain_line(words: list[str], line: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kinema: {line}") or line in said
    assert said.count("\n") == 1


def test_help_of_animate_begins_with_what_is_common_and_ends_in_examples(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        main(["animate", "--help"])
    shown = capsys.readouterr().out
    order = ["common options", "--out", "--loop", "feet and physics", "which video model", "--prior", "distillation",
             "--smooth-weight", "reading options", "examples:", "kinema animate --resume"]  # fmt: skip
    places = [shown.index(word) for word in order]
    assert places == sorted(places)
    lines = shown.splitlines()
    assert not [top for top, below in pairwise(lines) if top.startswith("╭") and below.startswith("╰")], "an empty box"
    for line in shown[shown.index("examples:") :].splitlines()[1:]:
        parse(shlex.split(line, comments=True)[1:])


def test_quiet_says_nothing_and_json_says_all(tmp_path, capsys: pytest.CaptureFixture) -> None:
    main(["creature", "fox", "-o", str(tmp_path / "fox.glb"), "-q"])
    assert capsys.readouterr() == ("", "")
    main(["--json", "creature", "fox", "-o", str(tmp_path / "fox.glb"), "-q"])
    assert json.loads(capsys.readouterr().out) == {"file": str(tmp_path / "fox.glb")}
    main(["inspect", str(tmp_path / "fox.glb"), "--json"])
    assert json.loads(capsys.readouterr().out)["joints"][0]["parent"] is None
    main(["creature", "--json"])
    assert "fox" in json.loads(capsys.readouterr().out)["species"]


def test_help_is_a_word_too(capsys: pytest.CaptureFixture) -> None:
    shown = []
    for words in (["help"], ["--help"], ["help", "view"], ["view", "--help"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != shown[2] == shown[3]
    # What a newcomer needs comes first.
    assert shown[0].index("• view") < shown[0].index("• batch")


def test_bare_kinema_shows_the_help(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "Exit codes" in shown
    # The first steps stand where a terminal ends, and they parse.
    steps = [line.strip() for line in shown.splitlines() if line.startswith("  kinema ")]
    assert steps[0].startswith("kinema animate ")
    for step in steps:
        words = shlex.split(step, comments=True)[1:]
        if "--help" not in words:
            parse(words)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["convert", "a.glb"], "convert needs TARGET (kinema convert --help)"),
        (["render"], "render needs ASSET and -o FILE (kinema render --help)"),
    ],
)
def test_what_is_missing_is_named_and_not_explained(words: list[str], line: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"kinema: {line}\n"
