"""Any character that can be read, as a file of another format."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from kinema.asset.motion_npz import check_motion
from kinema.asset.options import AS_NAMED, NameOptions
from kinema.create.find import find_character, find_path
from kinema.errors import KinemaError
from kinema.export.targets import BLENDER, GLTF


def convert(
    source: Path | str, target: Path, *, clip: str | None = None, motion: str | None = None, fps: float | None = None,
    in_place: bool = False, loop: bool = False, naming: NameOptions = AS_NAMED, **reading: Any,
) -> None:  # fmt: skip
    """Read any character (a file, a creature's words, the folder of a run) and write it as a file: `kinema convert`.

    All clips go along where the target holds several, the first (or the one named `clip`) where it holds one. A
    glTF's own clips are copied as they are unless `clip`, `fps`, `in_place`, `loop`, a name or a root bone ask for
    something else. With a file `motion` (or a run) the character has that motion alone, and a mesh without a rig gets
    one.
    `reading` are the options of `asset.load.load`; a skeleton from another file gets its weights by bone heat.
    """
    source, target, timing = str(source), Path(target), {"fps": fps, "in_place": in_place, "loop": loop}
    options = {**timing, "naming": naming}
    folder = find_path(source)
    if motion is not None or (folder is not None and folder.is_dir()):
        if clip is not None:
            raise KinemaError(f"--clip {clip}: chooses among the clips of a character file, not with a motion or a run")
        _convert_motion(source, target, motion, options, reading)
        return
    character = find_character(source, **reading)
    # Torch comes in here, and takes longer than to read and refuse a bad file.
    from kinema.export.gltf.glb import is_bound
    from kinema.export.write import write

    if character.skeleton is not None and character.weights is None:
        from kinema.rig.weights.bone_heat import rig_character

        character = rig_character(character, character.skeleton)
    clips = tuple(one for one in character.clips if clip in (None, one.name))
    if clip is not None and not clips:
        names = ", ".join(one.name for one in character.clips) or "none"
        raise KinemaError(f"{source}: has no clip {clip!r}; it has {names}")
    # These take the character's own glTF along, with its clips.
    keeping = target.suffix.lower() in GLTF + BLENDER and (character.skeleton is None or is_bound(character))
    as_they_are = clip is None and fps is None and not in_place and not loop
    if keeping and as_they_are and not naming.root_bone and naming.clip_name is None:
        write(target, character, naming=naming)
    else:
        write(target, character, clips, keep_clips=False, **options)


def _convert_motion(
    source: str, target: Path, motion: str | None, options: dict[str, Any], reading: dict[str, Any]
) -> None:
    """A motion on its character, or the motions of a run."""
    check_motion(motion)
    from kinema.export.timing import as_clip
    from kinema.export.write import write
    from kinema.motion.source import find_motion_of, sub_runs

    several = sub_runs(Path(source)) if motion is None else ()
    if several:
        runs = [(one.name.partition("-")[2], find_motion_of(str(one), None)) for one in several]
        character = runs[0][1][0]
        clips = [replace(as_clip(character, found[2]), name=name) for name, found in runs]
        write(target, character, clips, keep_clips=False, **options)
        return
    character, _, moves = find_motion_of(source, motion, **reading)
    write(target, character, moves, name=Path(motion or source).stem, keep_clips=False, **options)
