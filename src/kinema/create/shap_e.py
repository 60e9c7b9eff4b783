"""Shap-E (diffusers' `ShapEPipeline`): words to a coloured mesh."""

from pathlib import Path

import numpy as np

from kinema.asset.character import Character, Mesh
from kinema.asset.images import srgb_from_linear
from kinema.errors import KinemaError, first_line

HUB = "openai/shap-e"
GUIDANCE, STEPS, GRID = 15.0, 64, 128
"""As its authors use it: guidance, steps of denoising, points of the grid along each axis."""


def shap_e(
    words: str, checkpoint: str | None = None, *, seed: int = 0, steps: int = STEPS, grid: int = GRID
) -> Character:
    """A mesh without a rig, as the model made it: Z up, colours at its vertices.

    `checkpoint` is a folder that `save_pretrained` wrote, or a name on the hub.
    """
    if not words.strip():
        raise KinemaError("no words: say what shap-e shall make, such as 'a pug in a cape'")
    try:
        import torch
        from diffusers import ShapEPipeline
    except ImportError:
        raise KinemaError("shap-e: needs the extra `gpu`: pip install 'kinema[gpu]'") from None
    where = checkpoint or HUB
    if where.startswith((".", "/", "~")) and not Path(where).is_dir():
        raise KinemaError(f"{where}: no such folder (shap-e)")
    try:
        pipeline = ShapEPipeline.from_pretrained(where, use_safetensors=True, trust_remote_code=False)
    except Exception as error:
        # diffusers and the hub raise many kinds, with pages of advice.
        raise KinemaError(f"shap-e: {where}: cannot be loaded ({first_line(error, 160)})") from None
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pipeline = pipeline.to(device)
    pipeline.set_progress_bar_config(disable=True)
    generator = torch.Generator(device=device).manual_seed(seed)
    made = pipeline(
        words, guidance_scale=GUIDANCE, num_inference_steps=steps, generator=generator, output_type="latent"
    )
    latents = made.images  # pyright: ignore[reportAttributeAccessIssue]
    try:
        found = pipeline.shap_e_renderer.decode_to_mesh(latents[:1], device, grid_size=grid)
    except (RuntimeError, ValueError, IndexError):
        # Where the field has no inside, its decoder fails in one of several ways.
        raise KinemaError(f"shap-e: {words!r}: no surface was found") from None
    vertices, faces = found.verts.double().cpu().numpy(), found.faces.long().cpu().numpy()
    if not len(faces) or not np.isfinite(vertices).all():
        raise KinemaError(f"shap-e: {words!r}: the mesh is empty")
    linear = np.stack([found.vertex_channels[name].double().cpu().numpy() for name in "RGB"], -1)
    return Character(words.strip(), Mesh(vertices, faces, srgb_from_linear(np.clip(linear, 0.0, 1.0))))
