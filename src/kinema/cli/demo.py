"""`kinema demo`, which `make demo` runs: a built-in creature, a procedural walk, and one distilled from the prior."""

from dataclasses import dataclass
from pathlib import Path

from kinema.cli.arguments import OutFolder
from kinema.cli.output import Output
from kinema.errors import KinemaError


@dataclass(frozen=True)
class DemoCommand:
    """What `make demo` runs: a built-in creature, a procedural walk, and one distilled from the embedded prior."""

    out: OutFolder = Path("demo")
    """Folder for the results; those of an earlier demo are replaced."""
    asset: str = "a red fox"
    """A character file or the words of a built-in creature."""
    prompt: str = "a fox is walking"
    """What it does in the distilled clip."""


def demo(command: DemoCommand, output: Output) -> None:
    from kinema.cli.animate import run_with_bar
    from kinema.distill.config import Animate

    files = procedural_walk(command)
    job = Animate(command.asset, command.prompt, out=command.out / "distilled", overwrite=True)
    result = run_with_bar(job, output)
    found = result.report["verdict"]
    text = (
        f"read as {result.report['read_as']!r}; verdict {found['colour']}: {found['reason']}\n"
        f"procedural walk: {' '.join(map(str, files))}\ndistilled from {command.prompt!r} in"
        f" {result.report['seconds']} s: {result.folder}/ (look at report.html and contact_sheet.png)"
    )
    output.say(text, files=files, folder=result.folder, **result.report)


def procedural_walk(command: DemoCommand) -> list[Path]:
    """Write the character with a walk from our tables, and pictures of both."""
    from kinema.export.write import write
    from kinema.files import make_folder
    from kinema.gait.make import make_motion
    from kinema.motion.source import find_character, rigged
    from kinema.render.show import FilmOptions, render_character
    from kinema.rig.kinematics import Rig
    from kinema.rig.limbs import find_limbs

    if not command.prompt.strip():
        raise KinemaError("the prompt is empty: say what the character does, such as 'a fox is trotting'")
    character = rigged(find_character(command.asset))
    make_folder(command.out)
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    motion, _ = make_motion(rig, find_limbs(character), "walk", frames=48, fps=24.0)
    files = [command.out / name for name in ("procedural.glb", "procedural.bvh", "turntable.png", "procedural.png")]
    for path in files[:2]:
        write(path, character, motion, name="walk")
    options = FilmOptions(width=320, height=240)
    render_character(character, None, files[2], options=options)
    render_character(character, motion, files[3], options=options)
    return files
