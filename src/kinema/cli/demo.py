"""What `make demo` shows: a built-in creature, a procedural walk on it, and one distilled from the embedded prior."""

from collections.abc import Callable
from pathlib import Path

from kinema.distill.config import Animate
from kinema.distill.loop import Progress
from kinema.errors import KinemaError
from kinema.export.write import write
from kinema.files import make_folder
from kinema.gait.make import make_motion
from kinema.job.animate import Animation, animate
from kinema.motion.source import find_character, rigged
from kinema.render.show import FilmOptions, render_character
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def demo(
    out: Path, asset: str, prompt: str, *, progress: Callable[[Progress], None] = lambda _: None
) -> tuple[list[Path], Animation]:
    """Fill `out`; returns the procedural files and the distilled animation."""
    if not prompt.strip():
        raise KinemaError("the prompt is empty: say what the character does, such as 'a fox is trotting'")
    character = rigged(find_character(asset))
    make_folder(out)
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    motion, _ = make_motion(rig, find_limbs(character), "walk", frames=48, fps=24.0)
    files = [out / name for name in ("procedural.glb", "procedural.bvh", "turntable.png", "procedural.png")]
    for path in files[:2]:
        write(path, character, motion, name="walk")
    options = FilmOptions(width=320, height=240)
    render_character(character, None, files[2], options=options)
    render_character(character, motion, files[3], options=options)
    return files, animate(Animate(asset, prompt, out / "distilled", overwrite=True), progress=progress)
