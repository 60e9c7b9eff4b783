"""`kinema rig` and `kinema eval-rig`: a skeleton for a mesh, and how far two of them are apart."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from kinema.cli.arguments import AS_FOUND, AS_NAMED, Naming, Reading
from kinema.cli.output import Output
from kinema.errors import KinemaError
from kinema.options import named

Body = Literal[
    "biped", "quadruped", "bird", "winged", "hexapod", "octopod", "crab", "fish", "ray", "snake", "tree"
]  # fmt: skip


@dataclass(frozen=True)
class RigCommand:
    """Give a mesh a skeleton and skin weights, see and change it: save JSON, edit it, take it with --from."""

    file: Annotated[tyro.conf.Positional[Path], named("MESH")]
    """OBJ, PLY, STL, OFF, GLB ..."""
    out: Annotated[Path | None, named("FILE", "-o")] = None
    """GLB, FBX, USD ... with the mesh; .json (to edit) or .txt (RigNet's) for the rig alone; by default none."""
    source: Annotated[Path | None, tyro.conf.arg(name="from", metavar="FILE", help_behavior_hint="")] = None
    """Take the rig of another file: RigNet's .txt, a GLB or FBX (UniRig, SkinTokens) with its weights, JSON, BVH."""
    picture: Annotated[Path | None, named("PNG")] = None
    """Draw the joints over the mesh, from three sides."""
    body: Annotated[Body | None, named("{biped,quadruped,bird,...,tree}")] = None
    """Body plan of a mesh without joints; tree: none of the others. Found if not given."""
    visibility: Literal["field", "rays"] = "field"
    """How bone heat tests whether a bone is visible from a vertex: Pinocchio's distance field, or rays."""
    naming: Naming = AS_NAMED
    """How joints are called."""
    reading: Reading = AS_FOUND


def rig(command: RigCommand, output: Output) -> None:
    from kinema.asset.load import load
    from kinema.export.targets import check_rig_target
    from kinema.files import check_output

    reading = command.reading.arguments()
    if command.source is not None:
        if command.reading.skeleton is not None:
            raise KinemaError("--from and --skeleton: give one of them")
        reading |= {"skeleton": command.source, "weights": True}
    if command.out is not None:
        check_rig_target(command.out)
    if command.picture is not None:
        if command.picture.suffix.lower() != ".png":
            raise KinemaError(f"{command.picture}: the picture is a .png")
        check_output(command.picture)
    character = load(command.file, **reading)
    # Torch comes in here, and takes longer than to read and refuse a bad file.
    from kinema.export.write import write_rig
    from kinema.rig.describe import describe_roles, role_lines
    from kinema.rig.embed.embed import rig_as

    if command.source is None:
        # Joints that are there are kept, their weights are made anew.
        character = replace(character, weights=None)
    rigged, found = rig_as(character, command.body, visibility=command.visibility)
    if command.out is not None:
        write_rig(command.out, rigged, naming=command.naming)
    if command.picture is not None:
        from kinema.render.rig_picture import draw_rig

        draw_rig(command.picture, rigged)
    joints, roles = rigged.skeleton.names if rigged.skeleton else (), describe_roles(rigged)
    what = found.words if found is not None else f"{len(joints)} joints"
    written = [str(path) for path in (command.out, command.picture) if path is not None]
    lines = [f"{command.out or command.file}: {what}", *role_lines(roles), *(f"wrote {path}" for path in written)]
    values = {"plan": found.plan, "form": found.form, "confidence": round(found.confidence, 3)} if found else {}
    values |= {"measures": {name: round(value, 3) for name, value in found.measures.items()}} if found else {}
    output.say("\n".join(lines), file=command.out, picture=command.picture, joints=joints, **values, roles=roles)


@dataclass(frozen=True)
class EvalRigCommand:
    """Measure how far a rig is from another one of the same mesh: J2J, J2B, B2B and the weights' L1."""

    predicted: Annotated[tyro.conf.Positional[Path], named("PREDICTED")]
    """A rigged file (GLB, FBX ...), or RigNet's .txt or our .json in the coordinates of the true file."""
    true: Annotated[tyro.conf.Positional[Path], named("TRUE")]
    """The rigged file that it is compared with."""


def eval_rig(command: EvalRigCommand, output: Output) -> None:
    from kinema.evaluate.rig_distance import compare_files

    found = compare_files(command.predicted, command.true)
    weights = "none" if found.weights_l1 is None else f"{found.weights_l1:.4f}"
    distances = (f"{name} {100 * value:.2f}" for name, value in zip(("J2J", "J2B", "B2B"), asdict(found).values()))
    text = f"{', '.join(distances)} (x 100), weights' L1 {weights}"
    output.say(text, predicted=command.predicted, true=command.true, **asdict(found))
