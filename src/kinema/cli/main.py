"""`kinema COMMAND`: parse, call one public function, print one line.

Nothing heavy is imported here, so `kinema --help` answers at once.
"""

import signal
import sys
import threading
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kinema.errors import KinemaError, check_number

try:
    from kinema.cli.commands import (
        AnimateLive,
        Completion,
        Convert,
        Creature,
        Demo,
        Doctor,
        Eval,
        Inspect,
        Kinema,
        Render,
        Rig,
        Splat,
        Track,
        TrainPrior,
        View,
        parse,
    )
except KeyboardInterrupt:
    # The import takes long enough for a Ctrl-C to fall into it.
    print("kinema: interrupted", file=sys.stderr)
    raise SystemExit(130) from None

LONGEST_LINE = 600
SEEDS = 0, 2**63 - 1


def main(arguments: list[str] | None = None) -> None:
    """Parse, run, and turn every failure into one line and an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:
        from kinema import __version__

        print(f"kinema {__version__}")
        return
    try:
        options = parse(arguments)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _terminate)
        _show_warnings(options)
        _RUN[type(options.command)](options.command, options)
        sys.stdout.flush()
    except KinemaError as error:
        _fail(str(error), 1, arguments)
    except KeyboardInterrupt as stop:
        word, code = ("terminated", 143) if _terminated.is_set() else ("interrupted", 130)
        _fail(f"{word}{stop.args[0] if stop.args else ''}", code, arguments)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be told there, not even at exit.
        sys.stdout = None
        raise SystemExit(141) from None
    except MemoryError:
        _fail("out of memory", 1, arguments)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 1, arguments)
    except Exception as error:
        _fail(f"a bug, please report it (-v shows where): {type(error).__name__}: {error}", 70, arguments)


def _fail(message: str, code: int, arguments: list[str]) -> None:
    if {"-v", "--verbose"} & set(arguments):
        import traceback

        traceback.print_exc()
    line = " ".join(message.split())
    print(f"kinema: {line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + ' ...'}", file=sys.stderr)
    raise SystemExit(code)


_terminated = threading.Event()


def _terminate(number: int, frame: object) -> None:
    # As Ctrl-C, so that nothing half-written is left behind and the last line says how to go on.
    _terminated.set()
    raise KeyboardInterrupt


def _show_warnings(options: Kinema) -> None:
    """Our own as one line; those of libraries only on request."""

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        ours = str(Path(__file__).parents[1]) in filename
        if not options.quiet and (ours or options.verbose):
            print(f"kinema: note: {' '.join(str(message).split())}", file=sys.stderr)

    warnings.showwarning = show


def _say(options: Kinema, text: str, /, **values: Any) -> None:
    """The result: a line for people, or the same as JSON."""
    if options.json:
        import json

        print(json.dumps(values, default=str))
    elif not options.quiet:
        print(text)


def _inspect(command: Inspect, options: Kinema) -> None:
    from kinema.asset.inspect import describe, inspect_lines
    from kinema.motion.source import find_character

    character = find_character(command.file, **asdict(command.reading))
    _say(options, "" if options.json else "\n".join(inspect_lines(character)), **describe(character))


def _creature(command: Creature, options: Kinema) -> None:
    from kinema.create.creatures import creature, species

    check_number("--seed", command.seed, *SEEDS)
    if not command.words:
        text = "\n".join(f"{s.name:14s} {s.family}" for s in species())
        _say(options, text, species={s.name: s.family for s in species()})
        return
    from kinema.export.write import write

    out = command.out or Path(command.words.strip().replace(" ", "_") + ".glb")
    write(out, creature(command.words, seed=command.seed))
    _say(options, str(out), file=out)


def _rig(command: Rig, options: Kinema) -> None:
    from kinema.asset.load import load
    from kinema.export.write import check_target, write
    from kinema.rig.embed.embed import auto_rig
    from kinema.rig.weights.bone_heat import rig_character

    check_target(command.out)
    character = load(command.file, **asdict(command.reading))
    skeleton = character.skeleton
    if skeleton is not None:
        rigged = rig_character(character, skeleton, visibility=command.visibility)
    else:
        rigged = auto_rig(character, command.body, visibility=command.visibility)
    write(command.out, rigged)
    joints = rigged.skeleton.names if rigged.skeleton else ()
    _say(options, f"{command.out}: {len(joints)} joints", file=command.out, joints=joints)


def _splat(command: Splat, options: Kinema) -> None:
    import numpy as np

    from kinema.files import check_output
    from kinema.motion.source import find_character
    from kinema.splat.ply import write_ply
    from kinema.splat.splats import Splats

    check_number("--count", command.count, 1, 16_000_000)
    check_number("--seed", command.seed, *SEEDS)
    if command.out.suffix.lower() != ".ply":
        raise KinemaError(f"{command.out}: Gaussians are written as .ply")
    check_output(command.out)
    mesh = find_character(command.file, **asdict(command.reading)).mesh
    splats, _ = Splats.from_mesh(mesh, command.count, rng=np.random.default_rng(command.seed))
    if command.refine:
        from kinema.render.refine import refine

        splats = refine(splats, mesh, rng=np.random.default_rng(command.seed))
    write_ply(command.out, splats)
    _say(options, str(command.out), file=command.out, count=len(splats.centers))


def _render(command: Render, options: Kinema) -> None:
    from kinema.files import check_output
    from kinema.motion.source import find_character, find_motion_of, find_path
    from kinema.render.follow import Viewpoint
    from kinema.render.show import FilmOptions, render_character

    check_number("--width", command.width, 1, 16384)
    check_number("--height", command.height, 1, 16384)
    if command.out.suffix:
        check_output(command.out)
    motion, path = None, find_path(command.file)
    if command.motion is None and not (path is not None and path.is_dir()):
        character = find_character(command.file, **asdict(command.reading))
    else:
        character, _, motion = find_motion_of(command.file, command.motion, **asdict(command.reading))
    film = FilmOptions(
        width=command.width,
        height=command.height,
        viewpoint=Viewpoint(command.yaw, command.elevation),
        transparent=command.transparent,
        look=command.look,
    )
    splats = None
    if command.splats is not None:
        from kinema.splat.ply import read_ply
        from kinema.splat.transfer import transfer_weights

        cloud = read_ply(command.splats)
        splats = cloud, None if motion is None else transfer_weights(character, cloud.centers)
    render_character(character, motion, command.out, options=film, splats=splats)
    _say(options, str(command.out), file=command.out)


def _track(command: Track, options: Kinema) -> None:
    from dataclasses import replace

    from kinema.cli.terminal import track_with_progress
    from kinema.export.write import check_target
    from kinema.motion.source import find_motion_of
    from kinema.physics.track import Tracking

    check_number("--iterations", command.iterations, 1, 10_000_000)
    check_target(command.out, simulator=command.simulator)
    character, rig, motion = find_motion_of(command.file, command.motion, **asdict(command.reading))
    tracking = replace(Tracking.paper() if command.paper else Tracking(), iterations=command.iterations)
    result = track_with_progress(
        character, rig, motion, tracking, command.out, simulator=command.simulator, quiet=options.quiet or options.json
    )
    before, after = asdict(result.before), asdict(result.after)
    lines = [f"{command.out}: joints {result.joint_error_deg:.1f} degrees from the motion; before and after:"]
    lines += [f"  {key:14s} {before[key]:10.4g} {after[key]:10.4g}" for key in after]
    values = {"joint_error_deg": result.joint_error_deg, "before": before, "after": after}
    _say(options, "\n".join(lines), file=command.out, seconds=result.seconds, **values)


def _convert(command: Convert, options: Kinema) -> None:
    from kinema.export.write import check_target, convert

    check_number("--fps", command.fps, 1, 240)
    check_target(command.target)
    convert(
        command.source,
        command.target,
        clip=command.clip,
        fps=command.fps,
        in_place=command.in_place,
        loop=command.loop,
        **asdict(command.reading),
    )
    _say(options, str(command.target), file=command.target)


def _view(command: View, options: Kinema) -> None:
    from kinema.view.exhibit import find_exhibit
    from kinema.view.viewer import serve

    def announce(url: str) -> None:
        _say(options, f"{url}  (Ctrl-C ends)", url=url)
        sys.stdout.flush()

    serve(find_exhibit(command.file, command.motion, **asdict(command.reading)), command.listen, announce=announce)


def _eval(command: Eval, options: Kinema) -> None:
    from kinema.evaluate.judge import judge, verdict_lines

    videophy = None
    if command.videophy is not None:
        from kinema.evaluate.videophy import VideoPhy

        weights = command.videophy_weights or command.videophy / "videocon_physics"
        videophy = VideoPhy(command.videophy, weights, command.videophy_python or Path(sys.executable))
    given = {"prompt": command.prompt, "score": command.score, "videophy": videophy}
    verdict = judge(command.file, command.motion, **given, **asdict(command.reading))
    _say(options, "\n".join(verdict_lines(verdict)), **verdict)


def _doctor(command: Doctor, options: Kinema) -> None:
    from kinema.cli.doctor import doctor_lines, examine, memory_lines, memory_of

    if command.prior is None:
        found = examine()
        _say(options, "\n".join(doctor_lines(found)), **found)
        return
    announce = (lambda text: None) if options.quiet else (lambda text: print(text, file=sys.stderr, flush=True))
    estimate = memory_of(command.prior, command.video_size, announce=announce)
    _say(options, "\n".join(memory_lines(estimate)), **estimate)


def _animate(command: AnimateLive, options: Kinema) -> None:
    from kinema.cli.terminal import animate_live, animate_with_progress
    from kinema.job.animate import RESULTS

    quiet = options.quiet or options.json
    done = command.resume is not None and (command.resume / RESULTS[-1]).is_file()
    if command.live:
        result = animate_live(command.job, command.listen, quiet=quiet)
    else:
        result = animate_with_progress(command.job, quiet=quiet)
    how = "was finished already" if done else f"in {result.report['seconds']} s"
    lines = [f"{result.folder}/ {how}: {', '.join(RESULTS)}"]
    if options.verbose:
        lines += [f"  {name}: {seconds:.1f} s" for name, seconds in result.report["stage_seconds"].items()]
    _say(options, "\n".join(lines), folder=result.folder, **result.report)


def _train_prior(command: TrainPrior, options: Kinema) -> None:
    from kinema.cli.terminal import train_with_progress

    check_number("--minutes", command.minutes, 1e-3, 1e6)
    check_number("--seed", command.seed, *SEEDS)
    for name in ("shards", "reuse", "ahead", "batch", "ranks", "width", "layers", "heads", "channels", "columns"):
        check_number(f"--{name}", getattr(command, name), 1)
    weights = train_with_progress(command, quiet=options.quiet)
    _say(options, str(weights), file=weights)


def _completion(command: Completion, options: Kinema) -> None:
    parse(["--tyro-write-completion", command.shell, "-"])


def _demo(command: Demo, options: Kinema) -> None:
    from kinema.cli.terminal import demo_with_progress

    files, result = demo_with_progress(command, quiet=options.quiet or options.json)
    text = (
        f"procedural walk: {' '.join(map(str, files))}\ndistilled from {command.prompt!r} in"
        f" {result.report['seconds']} s: {result.folder}/ (look at report.html and contact_sheet.png)"
    )
    _say(options, text, files=files, folder=result.folder, **result.report)


_RUN: dict[type, Any] = {
    AnimateLive: _animate,
    Inspect: _inspect,
    Creature: _creature,
    Rig: _rig,
    Splat: _splat,
    Render: _render,
    Track: _track,
    Convert: _convert,
    View: _view,
    Eval: _eval,
    Doctor: _doctor,
    TrainPrior: _train_prior,
    Completion: _completion,
    Demo: _demo,
}
