"""The options of `kinema animate`; light, so that the command line can show them without torch."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from kinema.asset.options import AS_NAMED, FileOptions, NameOptions
from kinema.create.options import MADE_HERE, MakerOptions
from kinema.options import Flag, named

Positional = tyro.conf.Positional
Engine = Literal["auto", "fit", "sds"]
Time = Literal["auto", "fourier", "dct", "free"]
AS_FOUND = FileOptions()
RENAMED = {"as_motion": "as", "maker": "with"}
"""Options whose name is a word of Python's, by field."""
UNSPOKEN = ("asset", "prompt", "more", "resume", "reading", "naming", "making", "overwrite")
"""Fields that are no options, groups of options, or not part of what makes a run."""
Preset = Literal["default", "fast", "paper", "gpu"]


@dataclass(frozen=True)
class Animate:
    """Animate a character from a sentence: the main job.

    Options that a preset may set are None where they are not given, so that a given value always wins; `resolve` puts
    the preset's values there, or those of `Resolved`.
    """

    asset: Annotated[Positional[str], named("ASSET")] = ""
    """A character file (GLB, glTF, FBX, ...) or the words of a built-in creature ("a red fox")."""
    prompt: Annotated[Positional[str], named("PROMPT")] = ""
    """What it does: "a fox is trotting"; "a fox walks, then sits down" is a run for each part and one clip of all."""
    more: Annotated[Positional[tuple[str, ...]], named("PROMPT ...")] = ()
    """More prompts: a run for each in the folder, and one file with all clips."""
    as_motion: Annotated[str | None, tyro.conf.arg(name="as", metavar="NAME", help_behavior_hint="")] = None
    """Read the prompt as this motion (`kinema motions` lists them), whatever it says."""
    anyway: Flag = False
    """Run a prompt that the prior does not know, or that is refused, as what it comes nearest to."""
    out: Annotated[Path | None, named("FOLDER", "-o")] = None
    """Folder for the result; by default runs/<asset>-<prompt>."""
    resume: Annotated[Path | None, named("FOLDER")] = None
    """Go on with an interrupted run in this folder, to the same result as an uninterrupted one."""
    overwrite: Flag = False
    """Replace what an earlier run left in the folder; otherwise such a folder is refused, or numbered if not given."""
    preset: Preset = "default"
    """`fast`: fewer videos and steps; `paper`: as AKD states (docs/akd.md); `gpu`: a video model, to suit the card."""
    engine: Annotated[Engine | None, named("{auto,fit,sds}")] = None
    """`fit` samples videos and fits the joints to them; `sds` is the paper's; `auto` (default) does both in turn."""
    describe: Flag = False
    """Tell the prior a long description made from the prompt, the character's kind and its colours; it is shown."""
    description: Annotated[str | None, named("TEXT")] = None
    """What the prior is told in place of the prompt, such as an edited description."""
    prior: Annotated[str | None, named("NAME")] = None
    """nano (embedded, the default), a video model that `kinema doctor` lists, or a checkpoint of one: NAME=FOLDER."""
    device: Annotated[str | None, named("DEVICE")] = None
    """Where the prior runs: cpu (the default), cuda, cuda:1 ..."""
    quantize: Annotated[Literal["int8", "nf4"] | None, named("{int8,nf4}")] = None
    """Keep the linear layers of a video model in 8 or 4 bits."""
    offload: Flag = False
    """Keep a video model's weights in host memory; they visit the device block by block."""
    tiling: Flag = False
    """Encode a video model's frames in overlapping tiles: less memory, nearly the same latents."""
    tiny_encoder: Annotated[Path | None, named("FILE")] = None
    """TAEHV-style weights (.safetensors) that encode in place of a video model's own encoder."""
    student: Annotated[Path | None, named("FOLDER")] = None
    """Few-step student of an image-to-video model: it samples the videos to fit, the model itself judges them."""
    video_size: Annotated[tuple[int, int, int] | None, named("FRAMES HEIGHT WIDTH")] = None
    """Size of the videos that a video model sees; by default what it was trained with."""
    frames: int = 0
    """Length of the clip (of each part of a sequence), of loops in whole cycles; 0: two seconds, or the action."""
    fps: float = 0.0
    """Frames per second of the clip; 0: 24, and 60 or 120 for small animals with their quick steps."""
    seed: int = 0
    """Seed of everything random: the same one gives the same clip."""
    physics: bool = True
    """Project the motion to one that can happen (bipeds to octopods; skipped where nothing stands on the ground)."""
    physics_iterations: int = 200
    """Steps of the search for controls whose simulation stays closest to the motion."""
    plant_feet: bool = True
    """Standing feet stay where they touch down: legs and root are moved a little (not in paper mode)."""
    settle: Flag = False
    """Lift the skin out of the ground after physics in paper mode too, as all others do; its clip is as simulated."""
    in_place: Flag = False
    """Leave the travel out of the exported files."""
    loop: bool = True
    """Gaits take whole cycles, so that a player may repeat the clip: its end meets its beginning."""
    speed: Annotated[float | None, named("FLOAT")] = None
    """Travel [m/s]; by default from the leg length and the words."""
    period: Annotated[float | None, named("FLOAT")] = None
    """Duration of a gait cycle [s]; by default from the leg length and the words."""
    views: Annotated[int | None, named("INT")] = None
    """Videos to fit, by default 12: half as many more are sampled, and the likest to the prompt kept."""
    iterations: Annotated[int | None, named("INT")] = None
    """Steps of sds; by default 60 after the fit of a gait, 350 alone (--engine fit does none)."""
    fit_iterations: Annotated[int | None, named("INT")] = None
    """Steps of the fit to the sampled videos, by default 250."""
    guidance: Annotated[float | None, named("FLOAT")] = None
    """Classifier-free guidance of sds, by default 2 with nano (actions 1.3), 100 with others; 1: none."""
    time: Annotated[Time | None, named("{auto,fourier,dct,free}")] = None
    """How the motion is spelled in time; `auto`, the default: whole cycles for gaits, cosines for actions."""
    parameters: Literal["skeleton", "field"] = "skeleton"
    """`field`: a network moves every point of space (TC4D's baseline, vertices in field.npz); `skeleton`: joints."""
    learning_rate: Annotated[float | None, named("FLOAT")] = None
    """Size of a step of the angles' coefficients, by default 0.03 rad; the refinement starts at half of it."""
    smooth_weight: Annotated[float | None, named("FLOAT")] = None
    """Weight of the second time difference, by default 3 (per mean absolute rad)."""
    ground_weight: Annotated[float | None, named("FLOAT")] = None
    """Weight of feet under the ground, by default 30 (squared depth in leg lengths)."""
    slip_weight: Annotated[float | None, named("FLOAT")] = None
    """Weight of low feet that move over the ground, by default 100 (squared travel per frame in leg lengths)."""
    limits_weight: Annotated[float | None, named("FLOAT")] = None
    """Weight of knees and elbows that bend the wrong way, by default 2 (squared rad)."""
    pose_space: Flag = False
    """Pull arms, heads, tails and trunk towards the body's pose space (docs/posespace.md says what that changes)."""
    render_ground: bool = True
    """Draw the ground that the prior sees; off only for ablations."""
    shadow: Flag = False
    """Draw the character's shadow on the ground that the prior sees."""
    splats: int = 2000
    """Gaussians that the prior sees (the preview uses more); in paper mode at least one per vertex of the mesh."""
    reading: tyro.conf.OmitArgPrefixes[FileOptions] = AS_FOUND
    """How the character's file is read; what is not given is found."""
    making: tyro.conf.OmitArgPrefixes[MakerOptions] = MADE_HERE
    """Who makes the mesh of a character that is given by words; by default it is a built-in body."""
    naming: tyro.conf.OmitArgPrefixes[NameOptions] = AS_NAMED
    """How joints and clips are called in the exported files."""
    checkpoint_seconds: float = 10.0
    """How often to save, which is what a killed run loses at most."""

    @property
    def prompts(self) -> tuple[str, ...]:
        """All that the character does, one clip each."""
        return (self.prompt, *self.more)

    @property
    def told(self) -> str:
        """The words that the prior hears; the pace is read off the prompt."""
        return self.description or self.prompt


@dataclass(frozen=True)
class Resolved(Animate):
    """A job as it is run: every option that a preset may set has a value, by default this one."""

    engine: Engine = "auto"
    prior: str = "nano"
    device: str = "cpu"
    views: int = 12
    fit_iterations: int = 250
    guidance: float = 2.0
    time: Time = "auto"
    learning_rate: float = 0.03
    smooth_weight: float = 3.0
    ground_weight: float = 30.0
    slip_weight: float = 100.0
    limits_weight: float = 2.0


PRESETS: dict[Preset, dict[str, Any]] = {
    "default": {},
    # The rest follows from the model and the card (prior/gpu.py).
    "gpu": {"device": "cuda", "prior": "wan2.1-1.3b"},
    "fast": {"views": 4, "fit_iterations": 120, "iterations": 10},
    # What AKD states, and a learning rate, which it does not.
    "paper": {
        "engine": "sds", "time": "free", "iterations": 10_000, "smooth_weight": 2e5, "ground_weight": 1e7,
        "slip_weight": 0.0, "limits_weight": 0.0, "learning_rate": 0.01,
    },
}  # fmt: skip
"""Values of a job by preset (docs/akd.md says where those of the paper are from)."""
NANO_GUIDANCE, NANO_ACTION_GUIDANCE, AKD_GUIDANCE = 2.0, 1.3, 100.0


def usual_guidance(prior: str, *, repeats: bool = True) -> float:
    """Guidance by prior: AKD's, which is CogVideoX's, for all video models, and less for nano, whose estimates differ
    by phase and pace too, so that less sets them apart (docs/results/akd.md has both). Its actions, which are told
    their way and progress, come out exaggerated with as much as its gaits need (benchmarks/actions.py)."""
    if prior.partition("=")[0] != "nano":
        return AKD_GUIDANCE
    return NANO_GUIDANCE if repeats else NANO_ACTION_GUIDANCE


def resolve(config: Animate) -> Resolved:
    """The job with a value for every option that was not given: the preset's, or else the default; only cycles loop."""
    given = {field.name: getattr(config, field.name) for field in fields(Animate)}
    values: dict[str, Any] = _values_of(config) | {name: value for name, value in given.items() if value is not None}
    if config.preset == "gpu":
        from kinema.prior.gpu import setting_here

        # A flag can only be given as on.
        setting = setting_here(values["prior"], values["device"], tiny=config.tiny_encoder is not None)
        values |= {name: value for name, value in setting.items() if given[name] in (None, False)}
    cycles = values["time"] in ("auto", "fourier") and config.parameters == "skeleton"
    values["loop"] = config.loop and cycles
    return Resolved(**values)


def _values_of(config: Animate) -> dict[str, Any]:
    """Values of options that are not given, without those that follow from a card."""
    values: dict[str, Any] = {field.name: field.default for field in fields(Resolved)} | PRESETS[config.preset]
    return values | {"guidance": usual_guidance(config.prior or values["prior"])}


def command_words(config: Animate) -> list[str]:
    """Arguments of `kinema` that make this job: all options that are not as its preset has them."""
    words = ["animate", config.asset, *config.prompts]
    values = {field.name: getattr(config, field.name) for field in fields(config) if field.name not in UNSPOKEN}
    for group in (config.reading, config.making, config.naming):
        values |= vars(group)
    defaults = _values_of(config) | vars(MADE_HERE) | vars(AS_NAMED)
    for name, value in values.items():
        option = RENAMED.get(name, name.replace("_", "-"))
        if value is None or value == defaults.get(name):
            continue
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words += [f"--{option}", *map(str, value if isinstance(value, tuple) else (value,))]
    return words
