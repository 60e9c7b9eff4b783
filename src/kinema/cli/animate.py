"""`kinema animate`: the main job with a progress bar and, on request, a page in the browser."""

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from kinema.cli.arguments import LOCAL, Listen
from kinema.cli.output import Output
from kinema.cli.progress import Bar
from kinema.distill.config import Animate
from kinema.options import Flag

if TYPE_CHECKING:
    from kinema.job.folder import Animation
    from kinema.progress import Progress


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
    from kinema.job.folder import RESULTS, choose_folder

    done = command.resume is not None and (command.resume / RESULTS[-1]).is_file()
    job = replace(command.job, out=choose_folder(command.job))
    result = _animate_live(job, command, output) if command.live else run_with_bar(job, output)
    how = "was finished already" if done else f"in {result.report['seconds']} s"
    told = [f"the prior was told: {result.report['told']}"] if job.describe else []
    lines = [*told, f"read as {result.report['read_as']!r}", f"{result.folder}/ {how}: {', '.join(RESULTS)}"]
    if output.verbose:
        lines += [f"  {name}: {seconds:.1f} s" for name, seconds in result.report["stage_seconds"].items()]
    lines.append(f"look at it: kinema view {result.folder}")
    output.say("\n".join(lines), folder=result.folder, **result.report)


def run_with_bar(job: Animate, output: Output) -> "Animation":
    """Run a job with a bar; an interrupted one says how to go on."""
    from kinema.job.folder import run

    with Bar(quiet=output.silent) as bar, _resumable(job):
        return run(job, progress=bar.update)


def _animate_live(job: Animate, command: AnimateCommand, output: Output) -> "Animation":
    """Run a job with a bar and a page; on a terminal the page stays until Ctrl-C."""
    from kinema.job.folder import run
    from kinema.view.live import Live

    live = Live(command.listen)
    print(f"watch at {live.page.url}", file=sys.stderr, flush=True)
    try:
        with Bar(quiet=output.silent) as bar, _resumable(job):
            result = run(job, progress=_both(bar.update, live.progress), watch=live.begin)
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
        raise KeyboardInterrupt(f"; go on with: kinema animate --resume {folder}" if begun else "") from None


def _both(first: "Callable[[Progress], None]", second: "Callable[[Progress], None]") -> "Callable[[Progress], None]":
    def call(at: "Progress") -> None:
        first(at)
        second(at)

    return call
