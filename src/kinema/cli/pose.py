"""`kinema pose sample|ik|walk|keyframes|check`: poses of a character out of its pose space, into files."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from kinema.cli.arguments import AS_FOUND, SEEDS, Reading, check_ranges
from kinema.cli.output import Output
from kinema.errors import KinemaError
from kinema.options import Flag, named

if TYPE_CHECKING:
    from kinema.asset.character import Character
    from kinema.motion.motion import Motion
    from kinema.posespace.pose import Poses
    from kinema.posespace.space import PoseSpace

Number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
FIELD = re.compile(rf"^(?P<joint>.+?)=(?P<x>{Number}),(?P<y>{Number}),(?P<z>{Number})$")


@dataclass(frozen=True)
class PoseCommand:
    """Poses of a character: sample them, reach targets, walk from one to another, join keyframes, check a clip."""

    what: Annotated[tyro.conf.Positional[Literal["sample", "ik", "walk", "keyframes", "check"]], named("WHAT")]
    """sample poses; ik: meet targets; walk between poses; a clip through keyframes; check which limbs intersect."""
    file: Annotated[tyro.conf.Positional[str], named("ASSET")]
    """A character file, the words of a built-in creature, or the folder of a finished run."""
    clip: Annotated[tyro.conf.Positional[str], named("CLIP")] = ""
    """A motion file or the name of one of the file's clips: what `check` looks at, and where FRAMEs come from."""
    out: Annotated[Path | None, named("FILE", "-o")] = None
    """.png for a contact sheet, GLB, BVH, NPZ and so on for the poses as frames; `check` draws a picture of it."""
    count: Annotated[int, tyro.conf.arg(aliases=["-n"])] = 32
    """Poses of `sample`, frames of `walk`."""
    words: Annotated[str | None, named("TEXT")] = None
    """What the character does in sampled poses: "sleeping"."""
    target: Annotated[tuple[str, ...], named("JOINT=X,Y,Z")] = ()
    """Where joints shall be [m], for `ik`; several."""
    look: Annotated[tuple[str, ...], named("JOINT=X,Y,Z")] = ()
    """What joints shall face [m], for `ik`; several."""
    pin: Annotated[tuple[str, ...], named("JOINT")] = ()
    """Joints that stay where they are, for `ik`."""
    freeze: Annotated[tuple[str, ...], named("JOINT")] = ()
    """Joints that keep their rotation, for `ik`."""
    frame: Annotated[int | None, named("FRAME")] = None
    """Frame of CLIP to begin `ik` with; by default the rest pose."""
    plausible: Annotated[float | None, named("FLOAT")] = None
    """`ik`: 0 changes the pose little, 0.8 hardly keeps anything of it; by default 0.5 with --frame, 0.95 without."""
    key: Annotated[tuple[str, ...], named("SECONDS:FRAME")] = ()
    """Keys of `keyframes`: frame FRAME of CLIP at a time; and the two FRAMEs of `walk` (0:FRAME 1:FRAME)."""
    fps: float = 24.0
    """Frames per second of the clip."""
    plant: bool = True
    """Plant the feet of `keyframes`."""
    raw: Flag = False
    """Leave sampled poses as they are, with limbs in each other."""
    seed: int = 0
    """Seed of samples."""
    weights: Annotated[Path | None, named("FILE")] = None
    """Other weights of the pose space; by default those in the package."""
    reading: Reading = AS_FOUND


def pose(command: PoseCommand, output: Output) -> None:
    check_ranges(command, seed=SEEDS, count=(1, 4096), fps=(0.1, 1000))
    work = {"sample": _sample, "ik": _ik, "walk": _walk, "keyframes": _keyframes, "check": _check}
    work[command.what](command, output)


def _sample(command: PoseCommand, output: Output) -> None:
    space = _space(command, output)
    poses = space.sample(command.count, command.words, seed=command.seed, valid=not command.raw)
    _finish(command, output, space, poses.motion(space.rig, fps=command.fps), f"{len(poses)} poses", poses=len(poses))


def _ik(command: PoseCommand, output: Output) -> None:
    from kinema.posespace.reach import Target

    space = _space(command, output)
    start = None if command.frame is None else _frame(_frames(command, space), command.frame)
    targets = [Target(joint, position=at) for joint, at in _points(command.target, "--target", space)]
    targets += [Target(joint, look_at=at) for joint, at in _points(command.look, "--look", space)]
    if not targets:
        raise KinemaError("pose ik needs --target JOINT=X,Y,Z or --look JOINT=X,Y,Z")
    pins, frozen = ([_joint(space, j) for j in names] for names in (command.pin, command.freeze))
    found = space.solve(targets, start=start, pins=pins, frozen=frozen, plausible=command.plausible, seed=command.seed)
    far = 0.01 * space.body.scale
    lines = []
    for target, miss in zip(targets, found.misses):
        if target.position is not None:
            name = space.rig.names[target.joint]
            reached = f"{miss:.4f} m away" if miss < far else f"out of reach: the nearest point is {miss:.3f} m away"
            lines.append(f"{name}: {reached}")
    names = [space.rig.names[t.joint] for t in targets]
    misses = dict(zip(names, found.misses))
    _finish(command, output, space, found.poses.motion(space.rig, fps=command.fps), "\n  ".join(lines), misses=misses)


def _walk(command: PoseCommand, output: Output) -> None:
    space = _space(command, output)
    keys = _keys(command, space)
    if len(keys) != 2:
        raise KinemaError(f"pose walk needs two keys, --key 0:FRAME 1:FRAME, and has {len(keys)}")
    poses = space.walk(keys[0][1], keys[1][1], command.count)
    _finish(command, output, space, poses.motion(space.rig, fps=command.fps), f"{len(poses)} poses", poses=len(poses))


def _keyframes(command: PoseCommand, output: Output) -> None:
    from kinema.posespace.walk import Key

    space = _space(command, output)
    keys = [Key(seconds, key) for seconds, key in _keys(command, space)]
    motion = space.keyframes(keys, fps=command.fps, plant_feet=command.plant)
    _finish(command, output, space, motion, f"{len(motion)} frames", frames=len(motion))


def _check(command: PoseCommand, output: Output) -> None:
    from kinema.files import check_output
    from kinema.motion.source import find_motion_of
    from kinema.posespace.check import draw_contacts, find_contacts

    if command.out is not None:
        check_output(command.out)
    character, _, motion = find_motion_of(command.file, command.clip or None, **command.reading.arguments())
    found = find_contacts(character, motion)
    bad, count = found.frames, len(motion)
    worst = int(found.share.argmax())
    least = f"worst {found.share[worst]:.1%} of the faces in frame {worst}"
    lines = [f"{len(bad)} of {count} frames go through themselves; {least}"]
    lines += [f"  {name}: {frames} frames" for name, frames in list(found.limbs.items())[:8]]
    if bad:
        lines.append(f"  frames {_ranges(bad)}")
    if command.out is not None:
        draw_contacts(command.out, character, motion, found)
        lines.append(f"  {command.out}")
    output.say(
        "\n".join(lines), frames=count, intersecting=bad, worst=worst, limbs=found.limbs, file=command.out,
        share=[round(float(x), 5) for x in found.share],
    )  # fmt: skip


def _ranges(frames: list[int]) -> str:
    """1-4, 9, 12-30"""
    parts: list[list[int]] = []
    for frame in frames:
        if parts and frame == parts[-1][1] + 1:
            parts[-1][1] = frame
        else:
            parts.append([frame, frame])
    shown = [f"{a}-{b}" if a < b else f"{a}" for a, b in parts]
    return ", ".join(shown[:12]) + (" ..." if len(shown) > 12 else "")


def _space(command: PoseCommand, output: Output) -> "PoseSpace":
    from kinema.export.targets import SUFFIXES
    from kinema.files import check_output
    from kinema.posespace.space import STRANGE, PoseSpace

    if command.out is None:
        raise KinemaError(f"pose {command.what}: where to? Give -o FILE (.png, .glb, .bvh, .npz ...)")
    if command.out.suffix.lower() not in (".png", *SUFFIXES):
        raise KinemaError(f"{command.out}: give .png for a contact sheet, or one of {' '.join(SUFFIXES)}")
    check_output(command.out)
    space = PoseSpace.of(_character(command), weights=command.weights)
    if space.strangeness > STRANGE:
        strange = f"a body unlike all that the pose space was trained on ({space.strangeness:.1f} times the usual gap)"
        output.hint(f"kinema: note: {space.character.name} is {strange}; poses may be wrong")
    return space


def _character(command: PoseCommand) -> "Character":
    from kinema.create.find import find_path
    from kinema.motion.source import find_character, load_result, rigged

    folder = find_path(command.file)
    if folder is not None and folder.is_dir():
        return load_result(folder)[0]
    return rigged(find_character(command.file, **command.reading.arguments()))


def _frames(command: PoseCommand, space: "PoseSpace") -> "Poses":
    from kinema.motion.source import find_motion
    from kinema.posespace.pose import Poses

    rig, motion = find_motion(space.character, command.clip or None)
    return Poses.of_motion(rig, motion)


def _frame(frames: "Poses", frame: int) -> "Poses":
    if not 0 <= frame < len(frames):
        raise KinemaError(f"frame {frame}: the clip has frames 0 to {len(frames) - 1}")
    return frames[[frame]]


def _keys(command: PoseCommand, space: "PoseSpace") -> "list[tuple[float, Poses]]":
    frames, keys = _frames(command, space), []
    for words in command.key:
        seconds, colon, frame = words.partition(":")
        if not colon or not re.fullmatch(Number, seconds) or not frame.isdecimal():
            raise KinemaError(f"--key {words}: must be SECONDS:FRAME, such as 0.5:12")
        keys.append((float(seconds), _frame(frames, int(frame))))
    return keys


def _joint(space: "PoseSpace", name: str) -> int:
    names = space.rig.names
    if name not in names:
        from difflib import get_close_matches

        near = get_close_matches(name, names, n=3, cutoff=0.4)
        raise KinemaError(f"joint {name!r}: {space.character.name} has none; near are {', '.join(near) or 'none'}")
    return names.index(name)


def _points(given: tuple[str, ...], option: str, space: "PoseSpace") -> list[tuple[int, tuple[float, float, float]]]:
    result = []
    for words in given:
        match = FIELD.match(words)
        if match is None:
            raise KinemaError(f"{option} {words}: must be JOINT=X,Y,Z in metres, such as hand=0.3,1.2,0.4")
        x, y, z = (float(match[axis]) for axis in "xyz")
        result.append((_joint(space, match["joint"]), (x, y, z)))
    return result


def _finish(
    command: PoseCommand, output: Output, space: "PoseSpace", motion: "Motion", said: str, **facts: object
) -> None:
    """Write the poses as frames of a clip, or as a contact sheet."""
    assert command.out is not None
    if command.out.suffix.lower() == ".png":
        from kinema.render.show import FilmOptions, render_character

        render_character(space.character, motion, command.out, options=FilmOptions(width=256, height=256))
    else:
        from kinema.export.write import write

        write(command.out, space.character, motion, name=command.words or command.what, keep_clips=False)
    told = {"strangeness": round(space.strangeness, 3), **facts}
    output.say(f"{command.out}: {said}", file=command.out, **told)
