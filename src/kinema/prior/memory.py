"""How much memory a job will take, found by running it: real classes at full size on tensors without data.

One step of score distillation (encode, denoise with guidance, backward) is run under torch's fake tensors and every
storage is counted while it lives. The fake CPU stands for the GPU and fake `meta` for the host, because autograd on a
machine without a GPU knows no others.
"""

import math
import weakref
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from kinema.prior.checkpoint import Placement, needs_diffusers
from kinema.prior.protocol import Context, guided_estimate
from kinema.prior.quantize import Int8Linear, Nf4Linear

GIB = 2**30
CARDS = (40, 24, 12, 8)
"""Sizes of GPUs that a report speaks of [GB]."""
USABLE = 0.92
"""Share of a card that a job may plan with; CUDA's context, cuDNN's workspaces and fragmentation take the rest."""

DEVICE, HOST = "cpu", "meta"

LADDER: dict[str, Placement] = {
    "no checkpoints": Placement(dtype=torch.bfloat16, checkpointing=False),
    "bf16": Placement(dtype=torch.bfloat16),
    "int8": Placement(dtype=torch.bfloat16, quantize="int8"),
    "bf16, offload": Placement(dtype=torch.bfloat16, offload=True),
    "bf16, offload, tiles": Placement(dtype=torch.bfloat16, offload=True, tiling=True),
    "nf4, offload, tiles": Placement(dtype=torch.bfloat16, offload=True, tiling=True, quantize="nf4"),
}
"""Settings from the fastest to the smallest; the last ones also need the least host memory."""


@dataclass(frozen=True)
class MemoryEstimate:
    """What one job takes at its worst moment [bytes]; host memory only while it runs, without the files' cache."""

    prior: str
    setting: str
    frames: int
    height: int
    width: int
    parameters: dict[str, int]
    """Number of parameters by part."""
    weights: int
    """Weights that stay on the device."""
    text: int
    """While the prompt is embedded, once."""
    encode: int
    denoise: int
    backward: int
    host: int
    """Host memory for offloaded weights and caches."""
    tokens: int = 0
    """Tokens that the denoiser sees, or places of a U-Net's latents."""
    flops: int = 0
    """Floating point operations of a step's products, convolutions and attention; recomputed ones count again."""
    single: int = 0
    """Those of them that are in single precision, at which a card is slower."""
    moved: int = 0
    """Bytes that a step copies between host and device."""

    @property
    def peak(self) -> int:
        """The worst moment on the device."""
        return max(self.text, self.encode, self.denoise, self.backward)

    def fits(self, gigabytes: int | float) -> bool:
        """True if a card of this size is enough."""
        return self.peak <= USABLE * gigabytes * GIB


@dataclass(frozen=True)
class MemoryReport:
    """Estimates of one job, from the fastest setting to the smallest."""

    estimates: tuple[MemoryEstimate, ...]

    def setting_for(self, gigabytes: int | float) -> str | None:
        """The fastest setting that fits a card."""
        return next((estimate.setting for estimate in self.estimates if estimate.fits(gigabytes)), None)


def memory_report(prior: str, *, tiny: bool = False, **size: int | None) -> MemoryReport:
    """Estimates of one job for every setting; some ten seconds each."""
    found = (estimate_memory(prior, place, setting=name, tiny=tiny, **size) for name, place in LADDER.items())
    return MemoryReport(tuple(found))


def estimate_memory(
    prior: str, placement: Placement | None = None, *, setting: str = "", tiny: bool = False, **size: int | None
) -> MemoryEstimate:
    """One step of distillation at full size, without computing anything; `size` is frames, height and width.

    With `tiny` a tiny encoder encodes, after it was calibrated.
    """
    needs_diffusers(prior)
    from torch._subclasses.fake_tensor import FakeTensorMode

    from kinema.prior.full_size import build, text_parameters

    placement = replace(placement or Placement(), device=DEVICE, host=HOST)
    text = text_parameters(prior) * placement.dtype.itemsize
    with FakeTensorMode(), Storages() as storages:
        model, denoiser = build(prior, placement, **size)
        storages.highest = dict(storages.live)
        storages.reset_peak()
        storages.moved = storages.flops = storages.single = 0
        weights, host = storages.live[DEVICE], storages.live[HOST]
        video = torch.empty(model.frames, 3, model.height, model.width, requires_grad=True)
        context = Context(reference=torch.empty(model.frames, 3, model.height, model.width))
        if tiny:
            model.encode = _tiny(model, context, placement)
            storages.moved = storages.flops = storages.single = 0
        latents = model.encode(video, context)
        encode = storages.reset_peak()
        noisy = model.add_noise(latents.detach(), torch.empty_like(latents), 0.5)
        conditions = model.condition("prompt", context), model.condition("", context)
        clean = guided_estimate(model, noisy, 0.5, *conditions, guidance=100.0)
        denoise = storages.reset_peak()
        (0.5 * (latents - clean).square().sum()).backward()
        backward = storages.reset_peak()
    # Wan 2.2's 14B is two: one for the high noise levels, one for the low ones.
    denoisers = sum(map(_count, getattr(model, "experts", [denoiser])))
    parameters = {"denoiser": denoisers, "vae": _count(model.vae), "text encoder": text_parameters(prior)}
    text, host = (weights, max(storages.highest[HOST], host + text)) if placement.offload else (weights + text, 0)
    return MemoryEstimate(
        prior=prior, setting=setting, frames=model.frames, height=model.height, width=model.width,
        parameters=parameters, weights=weights, text=text, encode=encode, denoise=denoise, backward=backward, host=host,
        tokens=_tokens(latents, denoiser.config), flops=storages.flops, single=storages.single,
        moved=storages.moved,
    )  # fmt: skip


_ATEN = torch.ops.aten
# torch has no formulas for the CPU's kernels, which stand for the GPU's here.
FLOPS: dict[Any, Any] = flop_registry | {
    _ATEN._scaled_dot_product_flash_attention_for_cpu: flop_registry[_ATEN._scaled_dot_product_flash_attention],
    _ATEN._scaled_dot_product_flash_attention_for_cpu_backward: flop_registry[
        _ATEN._scaled_dot_product_flash_attention_backward
    ],
}
"""Floating point operations of an operator's call."""


class Storages(TorchDispatchMode):
    """Counts the bytes of every storage from its birth to its death, by device; copies between devices; and products.

    Not by torch's `FlopCounterMode`, which keeps tensors alive that are counted here.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = {DEVICE: 0, HOST: 0}
        self.peak, self.highest = dict(self.live), dict(self.live)
        self.known: set[int] = set()
        self.moved = self.flops = self.single = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and result.device != args[0].device:
            self.moved += result.numel() * result.element_size()
        if (formula := FLOPS.get(func._overloadpacket)) is not None:
            count = formula(*args, **(kwargs or {}), out_val=result)
            self.flops += count
            self.single += count if args[0].dtype == torch.float32 else 0
        for tensor in tree_leaves(result):
            if not isinstance(tensor, Tensor) or tensor.untyped_storage()._cdata in self.known:
                continue
            storage, device = tensor.untyped_storage(), tensor.device.type
            key, size = storage._cdata, storage.nbytes()
            self.known.add(key)
            self.live[device] += size
            for most in (self.peak, self.highest):
                most[device] = max(most[device], self.live[device])
            weakref.finalize(storage, self._free, key, device, size)
        return result

    def _free(self, key: int, device: str, size: int) -> None:
        self.known.discard(key)
        self.live[device] -= size

    def reset_peak(self) -> int:
        """The device's peak since the last call."""
        peak, self.peak = self.peak[DEVICE], dict(self.live)
        return peak


def _tokens(latents: Tensor, config: Any) -> int:
    """Latents [frames, channels, height, width] cut into the denoiser's patches."""
    patch = config.get("patch_size") or 1
    cells = math.prod(patch) if isinstance(patch, list | tuple) else patch**2 * (config.get("patch_size_t") or 1)
    return latents.numel() // latents.shape[1] // cells


@torch.no_grad()
def _tiny(model: Any, context: Context, placement: Placement) -> Any:
    """A calibrated tiny encoder for a model, of the published size."""
    from kinema.prior.full_size import made_on
    from kinema.prior.tiny_encoder import TinyEncode, TinyEncoder

    latents = model.encode(context.reference, context)
    # Compression in time is a power of two; the first frame has a latent frame of its own.
    time = 2 ** math.ceil(math.log2(max(1, model.frames - 1) / max(1, len(latents) - 1)))
    with made_on(DEVICE, placement.dtype):
        encoder = TinyEncoder.published(latents.shape[1], space=model.height // latents.shape[2], time=time)
    tiny = TinyEncode(model, encoder)
    tiny.calibrate(context.reference, context)
    return tiny


def _count(module: nn.Module) -> int:
    """Parameters as published; 4-bit codes hold two weights per byte."""
    layers = [m for m in module.modules() if isinstance(m, Nf4Linear | Int8Linear)]
    quantised = sum(m.codes.numel() * (2 if isinstance(m, Nf4Linear) else 1) for m in layers)
    return quantised + sum(p.numel() for p in module.parameters())
