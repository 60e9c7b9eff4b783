"""Nano behind the protocol: loads its weights from the package and needs nothing else."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from kinema.errors import KinemaError
from kinema.prior.nano.codec import FRAMES, HEIGHT, PATCH, TOKENS, WIDTH, Codec, near_character, patches, still_tokens
from kinema.prior.nano.model import TEXT, Conditions, Nano, signal_noise
from kinema.prior.nano.text import embed_texts
from kinema.prior.protocol import CameraRange, Context, KnownMotion, Needs, PromptReading, Video
from kinema.tensor_files import load_tensors, save_tensors

Latents = Float[Tensor, "tokens channels"]

WEIGHTS = Path(__file__).parent / "weights.safetensors"
HEADER = "nano"
"""Key of the header in a file of weights."""
UNFAMILIAR = 0.25
"""Cosine to the nearest trained caption below which a prompt is called unfamiliar."""
FPS = 8.0
"""Frames per second at which states and most actions are shown. Gaits are known by frames per cycle and leg lengths
per frame, whatever the rate."""
CYCLE_FRAMES = (6.5, 11.5)
"""Frames per gait cycle of training clips, drawn uniformly; a motion is distilled at their mean, 9."""
CAMERAS = CameraRange(yaw_deg=(25.0, 100.0), elevation_deg=(4.0, 20.0), fovy_deg=30.0, zoom=(0.92, 1.08))
"""Cameras of training clips, and of distillation with nano (at zoom 1)."""


FAST_BFLOAT16 = torch.backends.mkldnn.is_available() and torch.cpu._is_avx512_bf16_supported()
"""Whether this CPU multiplies bfloat16 natively: half the time for the same motion, at other last bits."""


class NanoPrior:
    """The embedded video prior (see `VideoPrior`)."""

    frames, height, width, device = FRAMES, HEIGHT, WIDTH, "cpu"
    needs = Needs(
        fps=FPS, cycle_frames=sum(CYCLE_FRAMES) / 2, look="canonical", cameras=CAMERAS, upright=True, phase=True
    )  # fmt: skip

    motions: Sequence[KnownMotion] = ()

    def __init__(self, model: Nano, codec: Codec, reader: "Reader", motions: Sequence[KnownMotion] = ()) -> None:
        self.model = model.eval().requires_grad_(False)
        self.codec, self.reader, self.motions = codec, reader, motions

    @staticmethod
    def load(path: Path | None = None) -> "NanoPrior":
        """From a weights file; by default the one in the package."""
        path = path or WEIGHTS
        if not path.is_file():
            raise KinemaError(f"{path}: no such weights; train them with kinema train-prior")
        try:
            tensors, header = load_tensors(path, key=HEADER)
        except ValueError as error:
            raise KinemaError(f"{path}: not nano weights ({error})") from None
        tensors = {name: tensor.float() for name, tensor in tensors.items()}
        codec = Codec(tensors.pop("codec.components"), header["scale"])
        reader = Reader(tuple(header["classes"]), *(tensors.pop(f"reader.{k}") for k in ("weight", "bias", "bank")))
        model = Nano(channels=codec.components.shape[0], **header["size"])
        model.load_state_dict(tensors)
        return NanoPrior(model, codec, reader, tuple(KnownMotion(*row) for row in header.get("motions", ())))

    def condition(self, prompt: str, context: Context) -> Conditions:
        text = embed_texts([prompt]) if prompt else torch.zeros(1, TEXT)
        still = still_tokens(context.reference[:1].detach()) * 2 - 1
        told = (0.0,) * 6
        if context.phase is not None:
            told = (float(context.repeats), context.phase, context.period, context.speed, 1.0, 1.0)
        camera = torch.deg2rad(torch.tensor([[context.yaw_deg, context.elevation_deg]]))
        return Conditions(text, still, torch.tensor([_is_upright(context)]), torch.tensor([told]), camera)

    def encode(self, video: Video, context: Context) -> Latents:
        """Latents of the places near the character at rest; the others are not looked at."""
        residual = patches(video - context.reference)[_places(context)]
        return residual @ self.codec.components.T * self.codec.scale

    def decode(self, latents: Latents, context: Context) -> Video:
        tokens = torch.zeros(TOKENS, latents.shape[-1]).index_copy(0, _places(context), latents)
        rows = context.reference.shape[-2] // PATCH
        return (context.reference + self.codec.decode(tokens, rows=rows)).clamp(0, 1)

    def add_noise(self, clean: Latents, noise: Latents, t: float) -> Latents:
        alpha, sigma = signal_noise(torch.tensor(t))
        return alpha * clean + sigma * noise

    @torch.no_grad()
    def denoise(self, noisy: Latents, t: float, conditions: list[Conditions]) -> list[Latents]:
        given = Conditions.cat(conditions)
        places = near_character(given.still, given.upright)
        n = len(conditions)
        with torch.autocast("cpu", torch.bfloat16, enabled=FAST_BFLOAT16):
            clean = self.model.clean(noisy.expand(n, -1, -1), torch.full((n,), t), given, places)
        return list(clean.float().unbind(0))

    def read(self, prompt: str) -> PromptReading:
        """Which trained motion the words mean; warns when they resemble none."""
        reading = self.reader.read(embed_texts([prompt])[0])
        if reading.similarity < UNFAMILIAR:
            far = f"far from every caption that nano was trained on (cosine {reading.similarity:.2f})"
            warnings.warn(f"{prompt!r} is {far}; it is read as {reading.motion!r}", stacklevel=2)
        return reading


def _is_upright(context: Context) -> bool:
    return context.reference.shape[-2] > context.reference.shape[-1]


def _places(context: Context) -> Int[Tensor, "tokens"]:
    still = still_tokens(context.reference[:1].detach()) * 2 - 1
    return near_character(still, torch.tensor([_is_upright(context)]))[0]


@dataclass(frozen=True)
class Reader:
    """A linear classifier on sentence embeddings, with some training captions to measure familiarity by."""

    classes: tuple[str, ...]
    weight: Float[Tensor, "classes 384"]
    bias: Float[Tensor, "classes"]
    bank: Float[Tensor, "captions 384"]

    def read(self, embedding: Float[Tensor, "384"]) -> PromptReading:
        odds = torch.softmax(self.weight @ embedding + self.bias, 0)
        best = int(odds.argmax())
        return PromptReading(self.classes[best], float(odds[best]), float((self.bank @ embedding).max()))


def save_weights(path: Path, model: Nano, codec: Codec, reader: Reader, *, note: dict[str, object]) -> None:
    """Half precision, with all that `NanoPrior.load` needs in one file; appears whole or not at all."""
    tensors = dict(model.state_dict()) | {"codec.components": codec.components}
    tensors |= {f"reader.{key}": getattr(reader, key) for key in ("weight", "bias", "bank")}
    size = {"width": model.width, "layers": model.layers, "heads": model.heads}
    header = {"size": size, "scale": codec.scale, "classes": reader.classes, **note}
    save_tensors(path, {name: value.half() for name, value in tensors.items()}, header=header, key=HEADER)


def fit_reader(captions: list[str], labels: list[int], classes: tuple[str, ...]) -> Reader:
    """Logistic regression with weight decay on the captions' embeddings, some 384 of which are kept."""
    unique = sorted(set(captions), key=len)  # sentences of one length waste no padding
    table = torch.cat([embed_texts(unique[i : i + 128]) for i in range(0, len(unique), 128)])
    place = {text: index for index, text in enumerate(unique)}
    embedded = table[torch.tensor([place[text] for text in captions])]
    target = torch.tensor(labels)
    weight, bias = (torch.zeros(len(classes), *size, requires_grad=True) for size in ((TEXT,), ()))
    optimizer = torch.optim.AdamW([weight, bias], lr=0.3, weight_decay=1e-3)
    for _ in range(300):
        loss = torch.nn.functional.cross_entropy(embedded @ weight.T + bias, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return Reader(classes, weight.detach(), bias.detach(), embedded[:: max(1, len(captions) // 384)])
