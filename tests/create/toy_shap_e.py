"""A toy checkpoint of the real classes of diffusers' ShapEPipeline, with weights that make a shape with legs.

The decoder's network is set by hand: its layers compute the distance to a body on four legs out of |x|, |y| and z
(`shape_weights`), whatever the latents are. The mesh is what the pipeline's own decoder and marching cubes make of it.
"""

from pathlib import Path

import numpy as np
import torch
from diffusers import HeunDiscreteScheduler, PriorTransformer, ShapEPipeline
from diffusers.pipelines.shap_e.renderer import ShapERenderer
from skimage.measure import marching_cubes
from transformers import CLIPTextConfig, CLIPTextModelWithProjection, CLIPTokenizer

SCALE, LIFT = 100.0, 6.0
"""Units are large, so that swish is nearly a ramp, and lifted, so that none of them is cut off."""


def _set_shape(renderer: ShapERenderer, *, empty: bool) -> None:
    """Body 1 - |x|/0.3 - |y|/0.75 - |z - 0.2|/0.3, legs 1 - ||x| - 0.16|/0.1 - ||y| - 0.4|/0.13 - beyond(z), and the
    larger of the two; Z is up, as in Shap-E's world."""
    layers = [torch.zeros(linear.weight.shape) for linear in renderer.mlp.mlp]
    biases = [torch.zeros(linear.bias.shape) for linear in renderer.mlp.mlp]
    for unit, (axis, sign, at) in enumerate(
        ((0, 1, 0.0), (0, -1, 0.0), (1, 1, 0.0), (1, -1, 0.0), (2, 1, 0.2), (2, -1, 0.2), (2, -1, -0.7))
    ):
        # Ramps sign (x - at), scaled.
        layers[0][unit, axis], biases[0][unit] = sign * SCALE, -sign * at * SCALE
    layers[1][0, :2], biases[1][0] = 1, -0.16 * SCALE
    layers[1][1, :2], biases[1][1] = -1, 0.16 * SCALE
    layers[1][2, 2:4], biases[1][2] = 1, -0.4 * SCALE
    layers[1][3, 2:4], biases[1][3] = -1, 0.4 * SCALE
    layers[1][4, :6] = torch.tensor([-1 / 0.3] * 2 + [-1 / 0.75] * 2 + [-1 / 0.3] * 2)
    biases[1][4] = (1 + LIFT) * SCALE
    layers[1][5, 4], layers[1][6, 6] = 1, 1
    layers[2][0, :7] = torch.tensor([-1 / 0.1, -1 / 0.1, -1 / 0.13, -1 / 0.13, 0, -1 / 0.2, -1 / 0.1])
    biases[2][0] = (1 + LIFT) * SCALE
    layers[2][1, 4] = 1
    layers[3][0, :2] = torch.tensor([1.0, -1.0])
    layers[3][1, 1] = 1
    for k in (4, 5):
        layers[k][0, 0] = layers[k][1, 1] = 1
    layers[6][0, :2], biases[6][0] = 1 / SCALE, -LIFT - (10.0 if empty else 0.0)
    with torch.no_grad():
        for linear, weight, bias in zip(renderer.mlp.mlp, layers, biases, strict=True):
            linear.weight.copy_(weight)
            linear.bias.copy_(bias)
        # The first four are made from the latents: as offsets, which the latents leave alone.
        for projection, weight in zip(renderer.params_proj.projections.values(), layers[:4], strict=True):
            projection.proj.weight.zero_()
            projection.proj.bias.copy_(weight.reshape(-1))


def _set_cubes(renderer: ShapERenderer) -> None:
    """The decoder's table of marching cubes, which a checkpoint carries along: by skimage, corner by corner."""
    for case in range(1, 255):
        # Corner (x, y, z) is bit x + 2 y + 4 z.
        inside = np.array([(case >> bit) & 1 for bit in range(8)]).reshape(2, 2, 2).transpose(2, 1, 0)
        points, faces, _, _ = marching_cubes(inside.astype(float) - 0.5, 0.0, method="lorensen")
        edges = []
        for point in points:
            axis = int(np.flatnonzero(np.abs(point - 0.5) < 0.1)[0])
            low, high = np.round(np.delete(point, axis)).astype(int)
            edges.append(4 * axis + low + 2 * high)
        for row, face in enumerate(faces[:5]):
            renderer.mesh_decoder.cases[case, row] = torch.tensor([edges[corner] for corner in face])
            renderer.mesh_decoder.masks[case, row] = True


def save_toy(folder: Path, *, empty: bool = False) -> Path:
    """Write the checkpoint; an `empty` one makes no surface at all."""
    torch.manual_seed(0)
    vocabulary = folder / "words"
    vocabulary.mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    lines = ",".join(f'"{token}": {index}' for index, token in enumerate(tokens))
    (vocabulary / "vocab.json").write_text("{" + lines + "}")
    (vocabulary / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(vocabulary / "vocab.json"), str(vocabulary / "merges.txt"), model_max_length=77)
    width = 16
    text = CLIPTextModelWithProjection(CLIPTextConfig(
        bos_token_id=0, eos_token_id=1, pad_token_id=1, hidden_size=width, intermediate_size=24, projection_dim=width,
        num_attention_heads=2, num_hidden_layers=1, vocab_size=len(tokens), max_position_embeddings=77,
    ))  # fmt: skip
    prior = PriorTransformer(
        num_attention_heads=2, attention_head_dim=8, embedding_dim=width, num_embeddings=32, num_layers=1,
        embedding_proj_dim=width, time_embed_dim=32, clip_embed_dim=2 * width, additional_embeddings=0,
        time_embed_act_fn="gelu", norm_in_type="layer", encoder_hid_proj_type=None, added_emb_type=None,
    )  # fmt: skip
    shapes = ((8, 93), (8, 8), (8, 8), (8, 8))
    renderer = ShapERenderer(
        param_shapes=shapes, d_latent=width, d_hidden=8, n_output=12, background=(0.1, 0.1, 0.1),
    )  # fmt: skip
    _set_shape(renderer, empty=empty)
    _set_cubes(renderer)
    scheduler = HeunDiscreteScheduler(
        beta_schedule="exp", num_train_timesteps=64, prediction_type="sample", use_karras_sigmas=True,
        clip_sample=True, clip_sample_range=1.0,
    )  # fmt: skip
    pipeline = ShapEPipeline(prior, text, tokenizer, scheduler, renderer)
    pipeline.save_pretrained(folder / "shap-e", safe_serialization=True)
    return folder / "shap-e"
