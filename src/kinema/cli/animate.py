"""`kinema animate`: the main job with a progress bar and, on request, a page in the browser."""

import contextlib
import re
import sys
import time
from dataclasses import dataclass, fields, replace
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from kinema.cli.arguments import LOCAL, Listen
from kinema.cli.output import Output
from kinema.cli.progress import Bar
from kinema.distill.config import Animate
from kinema.errors import KinemaError
from kinema.options import Flag

if TYPE_CHECKING:
    from kinema.job.folder import Animation
    from kinema.prior.protocol import PromptReading
    from kinema.progress import Progress

GROUPS = {
    "common options": (
        "--help", "--out", "--preset", "--as", "--anyway", "--seed", "--loop", "--in-place", "--speed", "--period",
        "--frames", "--fps", "--live", "--resume", "--overwrite", "--quiet", "--verbose", "--json",
    ),
    "feet and physics": ("--physics", "--physics-iterations", "--plant-feet", "--settle"),
    "which video model, and where": (
        "--prior", "--device", "--quantize", "--offload", "--tiling", "--tiny-encoder", "--student", "--video-size",
        "--describe", "--description",
    ),
}  # fmt: skip
"""Options by box of the help; the others are for those who tune the distillation, or in boxes of their own."""
EXAMPLES = """\
examples:
  kinema animate "a red fox" "a fox is trotting"
  kinema animate wolf.glb "a wolf is walking" -o runs/wolf
  kinema animate mesh.obj "a person is running" --preset fast
  kinema animate wolf.glb "walks" "runs" --names unreal  # two clips, one file
  kinema animate "a pug in a cape" "walks" --with shap-e
  kinema animate --resume runs/wolf
"""
COLOUR = re.compile(r"\x1b\[[\d;]*m")
NAME = re.compile(r"--[a-z][a-z-]*")


def arranged_help(shown: str) -> str:
    """Help in groups, the common options first and examples last."""
    return split_box(shown.replace("PROMPT PROMPT ...", "PROMPT [PROMPT ...]"), GROUPS, rest="distillation") + EXAMPLES


@dataclass(frozen=True)
class AnimateCommand(Animate):
    """Animate a character from a sentence: the main job."""

    live: Flag = False
    """Show the motion in the browser while it comes about: pause, stop and keep, change the losses' weights."""
    listen: Listen = LOCAL
    """Where the page of --live is found."""

    @property
    def job(self) -> Animate:
        """The job itself: how it is watched is not saved with it."""
        return Animate(**{field.name: getattr(self, field.name) for field in fields(Animate)})


def animate(command: AnimateCommand, output: Output) -> None:
    from kinema.job.saved import saved_job
    from kinema.motion.saved import read_config

    # Refused before torch comes in, which takes longer.
    several = bool(command.more) or (command.resume is not None and bool(read_config(command.resume)[0].more))
    if command.resume is not None and not several:
        saved_job(command.resume)
    from kinema.job.folder import RESULTS, choose_folder

    if several:
        _animate_several(command, output)
        return
    done = command.resume is not None and (command.resume / RESULTS[-1]).is_file()
    job = replace(command.job, out=choose_folder(command.job))
    result = _animate_live(job, command, output) if command.live else run_with_bar(job, output)
    how = "was finished already" if done else f"in {result.report['seconds']} s"
    # What it was read as was said before the work began; runs of earlier versions have no verdict.
    told = [f"the prior was told: {result.report['told']}"] if job.describe else []
    # Which rig was found was said before the work began.
    lines = [*told, *(note for note in result.report["notes"] if not note.startswith("no rig:"))]
    lines += [f"verdict {found['colour']}: {found['reason']}" for found in (result.report.get("verdict"),) if found]
    lines.append(f"{result.folder}/ {how}: {', '.join(RESULTS)}")
    if output.verbose:
        lines += [f"  {name}: {seconds:.1f} s" for name, seconds in result.report["stage_seconds"].items()]
    lines.append(f"look at it: kinema view {quote(str(result.folder))}")
    output.say("\n".join(lines), folder=result.folder, **result.report)


def _animate_several(command: AnimateCommand, output: Output) -> None:
    """A clip for each prompt, in one file."""
    from kinema.job.folder import choose_folder
    from kinema.job.several import run_all

    if command.live:
        raise KinemaError("--live: shows one prompt at a time")
    job = replace(command.job, out=choose_folder(command.job))
    with Bar(quiet=output.silent) as bar, _resumable(job):
        result = run_all(job, progress=bar.update, heard=partial(say_reading, output))
    lines = list(result.report["notes"])
    for row in result.report["clips"]:
        lines.append(f"{row['clip']}: {row['read_as']}, {row['verdict']['colour']}: {row['verdict']['reason']}")
    lines.append(f"{result.folder}/motion.glb: {len(result.runs)} clips in {result.report['seconds']} s")
    lines.append(f"look at one: kinema view {quote(str(result.runs[0].folder))}")
    output.say("\n".join(lines), folder=result.folder, **result.report)


def say_reading(output: Output, reading: "PromptReading") -> None:
    """Tell what the prompt is taken for, before time is spent on it."""
    if not output.silent:
        output.hint(f'"{reading.phrase}" is read as {reading.motion} ({reading.confidence:.0%})')


def run_with_bar(job: Animate, output: Output) -> "Animation":
    """Run a job with a bar; an interrupted one says how to go on."""
    from kinema.job.folder import run

    with Bar(quiet=output.silent) as bar, _resumable(job):
        return run(job, progress=bar.update, heard=partial(say_reading, output))


def _animate_live(job: Animate, command: AnimateCommand, output: Output) -> "Animation":
    """Run a job with a bar and a page; on a terminal the page stays until Ctrl-C."""
    from kinema.job.folder import run
    from kinema.view.live import Live

    live = Live(command.listen)

    def progress(at: "Progress") -> None:
        bar.update(at)
        live.progress(at)

    print(f"watch at {live.page.url}", file=sys.stderr, flush=True)
    try:
        with Bar(quiet=output.silent) as bar, _resumable(job):
            result = run(job, progress=progress, watch=live.begin, heard=partial(say_reading, output))
        live.finish(result.motion, result.distilled)
        if sys.stderr.isatty() and not output.silent:
            print(f"{result.folder} is written; Ctrl-C closes {live.page.url}", file=sys.stderr, flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)
        return result
    finally:
        live.close()


@contextlib.contextmanager
def _resumable(job: Animate):
    """Tell with a Ctrl-C how the run can be continued, if it has begun."""
    from kinema.job.folder import default_folder
    from kinema.motion.source import CONFIG

    try:
        yield
    except KeyboardInterrupt:
        folder = default_folder(job)
        begun = (folder / CONFIG).is_file()
        raise KeyboardInterrupt(
            f"; go on with: kinema animate --resume {quote(str(folder))}" if begun else ""
        ) from None


def split_box(shown: str, groups: dict[str, tuple[str, ...]], *, rest: str) -> str:
    """Help with its box of options as one box per group; options that no group names stand in `rest`, the last one."""
    lines = shown.splitlines()
    plain = [COLOUR.sub("", line) for line in lines]
    # Where there is no Unicode, a box is a title over hyphens, and ends in an empty line.
    begin = next((k for k, line in enumerate(plain) if re.match(r"╭─ options ─| options$", line)), None)
    if begin is None:
        return shown
    first = begin + (1 if plain[begin].startswith("╭") else 2)
    end = next((k for k, line in enumerate(plain) if k >= first and (line.startswith("╰") or not line)), len(lines))
    entries: list[list[str]] = []
    for line, text in zip(lines[first:end], plain[first:end]):
        if re.match("[│ ] -", text):
            entries.append([])
        entries[-1].append(line)
    named = {_name(entry): entry for entry in entries}
    taken = {name for names in groups.values() for name in names}
    groups = {**groups, rest: tuple(name for name in named if name not in taken)}
    split = []
    for title, names in groups.items():
        split += [_titled(lines[begin], title), *lines[begin + 1 : first]]
        split += [*(line for name in names for line in named.get(name, ())), *lines[end : end + 1]]
    return "\n".join((*lines[:begin], *split, *lines[end + 1 :])) + "\n"


def _name(entry: list[str]) -> str:
    found = NAME.search(COLOUR.sub("", entry[0]))
    return found.group() if found else ""


def _titled(top: str, title: str) -> str:
    """The box's upper edge with another title, as wide as before."""
    dashes = "─" * (len(title) - len("options"))
    return re.sub(f"{dashes}(─*)╮", r"\1╮", top.replace("options", title, 1), count=1)
