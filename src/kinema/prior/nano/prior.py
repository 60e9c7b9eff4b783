"""Nano behind the protocol: loads its weights from the package and needs nothing else."""

from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from kinema.errors import KinemaError
from kinema.prior.nano.codec import (
    CHANNELS,
    FRAMES,
    HEIGHT,
    PATCH,
    SCALE,
    TOKENS,
    WIDTH,
    covered_places,
    patches,
    still_tokens,
    unpatch,
)
from kinema.prior.nano.model import TEXT, Conditions, Nano, signal_noise, variant_row
from kinema.prior.nano.reader import Reader, trained_names
from kinema.prior.nano.words import embed_motion
from kinema.prior.protocol import CameraRange, Context, KnownMotion, Needs, PromptReading, Video
from kinema.tensor_files import load_tensors, save_tensors

Latents = Float[Tensor, "tokens channels"]
SomeLatents = Float[Tensor, "*videos tokens channels"]

WEIGHTS = Path(__file__).parent / "weights.safetensors"
HEADER = "nano"
"""Key of the header in a file of weights."""
FPS = 8.0
"""Frames per second at which states and most actions are shown. Gaits are known by frames per cycle and leg lengths
per frame, whatever the rate."""
CYCLE_FRAMES = (6.5, 11.5)
"""Frames per gait cycle of training clips, drawn uniformly; a motion is distilled at their mean, 9."""
CAMERAS = CameraRange(yaw_deg=(25.0, 100.0), elevation_deg=(4.0, 20.0), fovy_deg=30.0, zoom=(0.86, 1.0))
"""Cameras of training clips, and of distillation with nano; the zoom is the share of the picture that a body fills."""


FAST_BFLOAT16 = torch.backends.mkldnn.is_available() and torch.cpu._is_avx512_bf16_supported()
"""Whether this CPU multiplies bfloat16 natively: half the time for the same motion, at other last bits."""


class NanoPrior:
    """The embedded video prior (see `VideoPrior`)."""

    frames, height, width, device = FRAMES, HEIGHT, WIDTH, "cpu"
    needs = Needs(
        fps=FPS, cycle_frames=sum(CYCLE_FRAMES) / 2, look="points", cameras=CAMERAS, upright=True, phase=True,
        reference="points", token_size=CHANNELS,
    )  # fmt: skip

    def __init__(self, model: Nano, motions: Sequence[KnownMotion] = ()) -> None:
        self.model, self.motions = model.eval().requires_grad_(False), motions
        self._near: tuple[Tensor, Tensor, Tensor] | None = None

    @staticmethod
    def load(path: Path | None = None) -> "NanoPrior":
        """From a weights file; by default the one in the package."""
        path = path or WEIGHTS
        if not path.is_file():
            raise KinemaError(f"{path}: no such weights; train them with kinema train-prior")
        try:
            tensors, header = load_tensors(path, key=HEADER)
            tensors = {name: tensor.float() for name, tensor in tensors.items()}
            # Before anything is made of them, the sizes must be those of the tensors.
            held = {"width": tensors["tokens_in.weight"].shape[0]}
            held["layers"] = len({name.split(".")[1] for name in tensors if name.startswith("blocks.")})
            if {name: header["size"][name] for name in held} != held:
                raise ValueError(f"its size {header['size']} is not that of its tensors, {held}")
            model = Nano(**header["size"])
            model.load_state_dict(tensors)
            motions = tuple(KnownMotion.of_row(row) for row in header.get("motions", ()))
        # The network itself says, by these, that sizes and tensors do not go together.
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            raise KinemaError(f"{path}: not nano weights ({str(error).splitlines()[0][:100]})") from None
        return NanoPrior(model, motions)

    def condition(self, prompt: str, context: Context) -> Conditions:
        motion = (context.motion or self.read(prompt).motion) if prompt else ""
        text = embed_motion(motion) if motion else torch.zeros(1, TEXT)
        variant = torch.tensor([variant_row(context.variant) if prompt else 0])
        still, places = self._still_and_places(context)
        told = (0.0,) * 7
        if context.phase is not None:
            pace = (float(context.repeats), context.phase, context.period, context.speed)
            told = (*pace, 1.0, 1.0, float(context.side))
        camera = torch.deg2rad(torch.tensor([[context.yaw_deg, context.elevation_deg]]))
        upright = torch.tensor([_is_upright(context)])
        return Conditions(text, variant, still, upright, torch.tensor([told]), camera, places)

    def encode(self, video: Video, context: Context) -> Latents:
        """Patches of a film of point maps that the standing body covers."""
        return SCALE * patches(video)[self._still_and_places(context)[1][0]]

    def decode(self, latents: Latents, context: Context) -> Video:
        """A film of point maps."""
        places = self._still_and_places(context)[1][0]
        tokens = latents.new_zeros(TOKENS, CHANNELS).index_copy(0, places, latents / SCALE)
        return unpatch(tokens, rows=context.reference.shape[-2] // PATCH)

    def add_noise(self, clean: SomeLatents, noise: SomeLatents, t: float) -> SomeLatents:
        alpha, sigma = signal_noise(torch.tensor(t))
        return alpha * clean + sigma * noise

    @torch.no_grad()
    def denoise(self, noisy: SomeLatents, t: float, conditions: list[Conditions]) -> list[Latents]:
        """Clean estimates, one per condition, of one noisy video or of as many."""
        given, n = Conditions.cat(conditions), len(conditions)
        with torch.autocast("cpu", torch.bfloat16, enabled=FAST_BFLOAT16):
            clean = self.model.clean(noisy.expand(n, -1, -1), torch.full((n,), t), given)
        return list(clean.float().unbind(0))

    def read(self, prompt: str, body: str | None = None) -> PromptReading:
        """Which motion the words mean on a kind of body, and whether the model was trained on it there."""
        return Reader.load().read(prompt, body, known=trained_names(self.motions, body))

    def _still_and_places(self, context: Context) -> tuple[Float[Tensor, "1 places values"], Int[Tensor, "1 tokens"]]:
        """Patches of the standing body and their tokens; kept, as one context is asked for them several times."""
        near = self._near
        if near is None or near[0] is not context.reference:
            still = still_tokens(context.reference[None])
            self._near = near = (context.reference, still, covered_places(still))
        return near[1:]


def _is_upright(context: Context) -> bool:
    return context.reference.shape[-2] > context.reference.shape[-1]


def save_weights(path: Path, model: Nano, *, note: dict[str, object]) -> None:
    """Half precision, with all that `NanoPrior.load` needs in one file; appears whole or not at all."""
    size = {"width": model.width, "layers": model.layers, "heads": model.heads}
    half = {name: value.half() for name, value in model.state_dict().items()}
    save_tensors(path, half, header={"size": size, **note}, key=HEADER)
