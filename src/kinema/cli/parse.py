"""The command line as types: tyro parses it; help is folded to the terminal and wrong usage is one line."""

import re
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper
from textwrap import fill
from typing import Annotated, Any, Literal, Union

import tyro

from kinema.cli import animate, batch, convert, demo, doctor, measure, pose, rig, show, study, train, words
from kinema.cli.output import Output
from kinema.cli.usage import UsageError, bash_script, check
from kinema.collect.config import CollectPoses
from kinema.options import Flag, named
from kinema.posespace.config import TrainPoses
from kinema.prior.nano.config import MakeClips, TrainPrior


@dataclass(frozen=True)
class CompletionCommand:
    """Print a shell's completion script: eval "$(kinema completion bash)" """

    shell: Annotated[tyro.conf.Positional[Literal["bash", "zsh", "fish"]], named("{bash,zsh,fish}")]
    """Which shell."""


def completion(command: CompletionCommand, output: Output) -> None:
    if command.shell == "bash":
        from kinema.prior.load import MODELS

        print(bash_script({name: cls for name, (cls, _) in COMMANDS.items()}, ("nano", *MODELS)), end="")
    else:
        with suppress(SystemExit):  # tyro ends the program when it has written its script
            _parse(["--tyro-write-completion", command.shell, "-"])


COMMANDS: dict[str, tuple[type, Any]] = {
    "animate": (animate.AnimateCommand, animate.animate),
    "create": (convert.CreateCommand, convert.create),
    "view": (show.ViewCommand, show.view),
    "inspect": (convert.InspectCommand, convert.inspect),
    "convert": (convert.ConvertCommand, convert.convert),
    "render": (show.RenderCommand, show.render),
    "rig": (rig.RigCommand, rig.rig),
    "motions": (words.MotionsCommand, words.motions),
    "read": (words.ReadCommand, words.read),
    "eval": (measure.EvalCommand, measure.evaluate),
    "pose": (pose.PoseCommand, pose.pose),
    "demo": (demo.DemoCommand, demo.demo),
    "doctor": (doctor.DoctorCommand, doctor.doctor),
    "batch": (batch.BatchCommand, batch.batch),
    "film": (show.FilmCommand, show.film),
    "track": (measure.TrackCommand, measure.track),
    "splat": (convert.SplatCommand, convert.splat),
    "eval-rig": (rig.EvalRigCommand, rig.eval_rig),
    "eval-suite": (batch.EvalSuiteCommand, batch.eval_suite),
    "study": (study.StudyCommand, study.study),
    "study-report": (study.StudyReportCommand, study.study_report),
    "train-prior": (TrainPrior, train.train_prior),
    "make-clips": (MakeClips, train.make_clips),
    "collect-poses": (CollectPoses, train.collect_poses),
    "train-poses": (TrainPoses, train.train_poses),
    "completion": (CompletionCommand, completion),
    "creature": (convert.CreatureCommand, convert.create),
}
"""Every command, what people use first: the dataclass of its options and the function that runs it."""
TWO_WORDS = {("study", "report"): "study-report", ("eval", "suite"): "eval-suite"}
"""Commands that are also spelled as two words."""
Command = Union[tuple(Annotated[cls, tyro.conf.subcommand(name)] for name, (cls, _) in COMMANDS.items())]  # noqa: UP007

FIRST_STEPS = """first steps:
  kinema animate "a red fox" "a fox is walking" -o runs/fox
  kinema view runs/fox
  kinema motions fox    # what the embedded prior knows
  kinema animate --help

Exit codes: 0 done, 1 an error that one line on stderr explains, 2 wrong usage,
70 a bug, 75 the machine is to blame (try again), 130 interrupted by Ctrl-C,
141 nobody reads the output, 143 terminated. `kinema --version` tells which one
this is.
"""
"""What stands below the list of commands, where a terminal shows it."""


@dataclass(frozen=True)
class Kinema:
    """Animate a 3D character from a sentence."""

    command: tyro.conf.OmitArgPrefixes[tyro.conf.OmitSubcommandPrefixes[Command]]  # pyright: ignore
    """What to do."""
    quiet: Annotated[Flag, tyro.conf.arg(aliases=["-q"])] = False
    """Say nothing but errors (and JSON, if asked for)."""
    verbose: Annotated[Flag, tyro.conf.arg(aliases=["-v"])] = False
    """Say more: all warnings, the time of each stage, tracebacks."""
    json: Flag = False
    """Print the result as one line of JSON, for machines."""

    @property
    def output(self) -> Output:
        return Output(self.quiet, self.verbose, self.json)

    def run(self) -> None:
        """Run the command that was given."""
        work = next(work for cls, work in COMMANDS.values() if type(self.command) is cls)
        work(self.command, self.output)


def parse(arguments: list[str]) -> Kinema:
    arguments = _one_word([*arguments[1:], "--help"] if arguments[:1] == ["help"] else arguments)
    if not {"-h", "--help"} & set(arguments):
        return _parse_or_one_line(arguments)
    shown = TextIOWrapper(BytesIO(), encoding=sys.stdout.encoding)
    shown.isatty = sys.stdout.isatty  # so that colours stay
    try:
        with redirect_stdout(shown):
            return _parse(arguments)
    finally:
        shown.seek(0)
        text = _folded(shown.read(), shutil.get_terminal_size().columns)
        if "animate" in arguments:
            text = animate.arranged_help(text)
        elif not set(COMMANDS) & set(arguments):
            text += FIRST_STEPS
        print(text, end="")


def _one_word(arguments: list[str]) -> list[str]:
    """`study report ...` as `study-report ...`; options may stand before."""
    at = next((k for k, word in enumerate(arguments) if not word.startswith("-")), len(arguments))
    command = TWO_WORDS.get(tuple(arguments[at : at + 2]))  # pyright: ignore[reportArgumentType]
    return [*arguments[:at], command, *arguments[at + 2 :]] if command else arguments


def _parse_or_one_line(arguments: list[str]) -> Kinema:
    """tyro explains wrong usage in a box of many lines; what went wrong is in the first."""
    try:
        check(arguments, {name: cls for name, (cls, _) in COMMANDS.items()})
    except UsageError as error:
        print(f"kinema: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    errors = StringIO()
    try:
        with redirect_stderr(errors):
            return _parse(arguments)
    except SystemExit as stop:
        if stop.code:
            print(f"kinema: {_one_line(errors.getvalue())}", file=sys.stderr)
        raise


def _one_line(box: str) -> str:
    plain = re.sub(r"\x1b\[[\d;]*m|[╭╮╰╯│]", "", box)
    # A title, then sections between rules; where there is no Unicode they are made of hyphens.
    _, *sections = [part.strip().split("\n") for part in re.split("─{2,}|-{5,}", plain) if part.strip()] or [[""]]
    said = " ".join(line.strip() for line in sections[0]) if sections else ""
    if (missing := re.match("Missing from kinema ([a-z-]+):", said)) is not None:
        # The name of an argument stands between the command and what the argument is, which --help tells better.
        depth = [len(line) - len(line.lstrip()) for line in sections[0][1:]]
        names = [line.split(",")[0].strip() for line, deep in zip(sections[0][1:], depth) if deep == min(depth)]
        return f"{missing[1]} needs {' and '.join(names)} (kinema {missing[1]} --help)"
    for section in sections[1:]:
        if section[0].startswith("Perhaps you meant"):
            said += f"; perhaps you meant {section[1].strip()}"
        elif section[0].startswith("Available"):
            said += f"; {' '.join(line.strip() for line in section)}"
    return f"{said or 'wrong usage'} (kinema --help, kinema COMMAND --help)"


def _parse(arguments: list[str]) -> Kinema:
    return tyro.cli(Kinema, args=arguments, prog="kinema", config=(tyro.conf.CascadeSubcommandArgs,))


def _folded(shown: str, width: int) -> str:
    """Help as tyro made it, but lines outside its boxes are folded too, and boxes have no empty ones."""
    lines = []
    for line in shown.splitlines():
        if not re.search("[╭│╰]", line):
            # The commands stand in a box of their own.
            line = re.sub(r"\{animate,.*\}", "COMMAND ...", line)
            line = fill(line, width, subsequent_indent="  " * ("usage:" in line))
        elif not re.search("[^│ ]", re.sub(r"\x1b\[[\d;]*m", "", line)):
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"
