"""`kinema track` and `kinema eval`: physics and measures of one clip."""

from dataclasses import asdict, dataclass, replace
from typing import Annotated

import tyro

from kinema.cli.arguments import AS_FOUND, Asset, OutFile, Reading, check_ranges
from kinema.cli.output import Output
from kinema.evaluate.videophy import NO_JUDGE, JudgeOptions
from kinema.options import Flag, named


@dataclass(frozen=True)
class TrackCommand:
    """Project a motion to one that can happen: gravity, contact, friction. A killed run goes on when called again."""

    file: Asset
    """A character file, the words of a built-in creature, or the folder of a finished run."""
    out: OutFile
    """GLB, BVH, NPZ ..., or .xml for MJCF with the trajectory beside it."""
    motion: Annotated[str | None, named("MOTION", "--clip")] = None
    """A .npz or .bvh motion of the same joints, or the name of one of the file's clips; by default the first clip."""
    iterations: int = 200
    """Steps of the search for the controls."""
    paper: Flag = False
    """Controls per substep, loss at frames, the motion itself as target."""
    simulator: Flag = False
    """With a USD file: rigid bodies, joints and ground of the physics schema instead of a skinned character."""
    reading: Reading = AS_FOUND


def track(command: TrackCommand, output: Output) -> None:
    from kinema.asset.motion_npz import check_motion

    check_motion(command.motion)
    from kinema.cli.progress import Bar
    from kinema.export.targets import check_target
    from kinema.export.usd_physics import write_usd_physics
    from kinema.export.write import write
    from kinema.motion.source import find_motion_of
    from kinema.physics.track import Tracking
    from kinema.physics.track import track as track_motion
    from kinema.progress import Progress
    from kinema.rig.anatomy import Anatomy

    check_ranges(command, iterations=(1, 10_000_000))
    check_target(command.out, simulator=command.simulator)
    character, rig, motion = find_motion_of(command.file, command.motion, **command.reading.arguments())
    options = replace(Tracking.paper() if command.paper else Tracking(), iterations=command.iterations)
    saved = command.out.with_name(command.out.name + ".track.npz")
    anatomy = Anatomy.of(character)
    try:
        with Bar(quiet=output.silent) as bar:
            result = track_motion(
                None, rig, motion, options=options, limbs=anatomy.limbs, cuboids=anatomy.cuboids, checkpoint=saved,
                progress=lambda done, total, loss: bar.update(Progress(done, total, "physics", loss)),
            )  # fmt: skip
    except KeyboardInterrupt:
        note = "; the same command goes on from where it was" if saved.is_file() else ""
        raise KeyboardInterrupt(note) from None
    if command.simulator:
        write_usd_physics(command.out, rig, result.model, anatomy.cuboids, motion=result.motion)
    else:
        write(command.out, character, result.motion)
    saved.unlink(missing_ok=True)
    before, after = asdict(result.before), asdict(result.after)
    lines = [f"{command.out}: joints {result.joint_error_deg:.1f} degrees from the motion; before and after:"]
    lines += [f"  {key:14s} {before[key]:10.4g} {after[key]:10.4g}" for key in after]
    values = {"joint_error_deg": result.joint_error_deg, "before": before, "after": after}
    output.say("\n".join(lines), file=command.out, seconds=result.seconds, **values)


@dataclass(frozen=True)
class EvalCommand:
    """Measure a clip: its gait, how cleanly feet and ground are treated, and how well a sentence fits."""

    file: Asset
    """The folder of a finished run, a character file with a clip, or the words of a built-in creature with --motion."""
    motion: Annotated[str | None, named("MOTION", "--clip")] = None
    """A .npz or .bvh motion of the same joints, or the name of one of the file's clips; by default the first clip."""
    prompt: Annotated[str | None, named("PROMPT")] = None
    """A sentence to score the clip with, by the embedded prior; by default that of the run."""
    score: bool = True
    """Ask the prior; off: measure only."""
    judge: tyro.conf.OmitArgPrefixes[JudgeOptions] = NO_JUDGE
    """Who else scores the film."""
    reading: Reading = AS_FOUND


def evaluate(command: EvalCommand, output: Output) -> None:
    from kinema.asset.motion_npz import check_motion

    check_motion(command.motion)
    from kinema.evaluate.judge import eval_lines, judge

    asked = {"prompt": command.prompt, "score": command.score, "videophy": command.judge.judge()}
    found = judge(command.file, command.motion, **asked, **command.reading.arguments())
    output.say("\n".join(eval_lines(found)), **found)
