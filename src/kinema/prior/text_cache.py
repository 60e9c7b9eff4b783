"""Text embeddings on disk: a text encoder of 10 GB runs once per prompt and is freed."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from kinema.errors import KinemaError

Embedding = dict[str, Tensor]


def cache_folder() -> Path:
    """`$KINEMA_CACHE`, else the user's cache directory."""
    if folder := os.environ.get("KINEMA_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kinema"


def cached_embedding(
    encoder: Path, prompt: str, embed: Callable[[list[str]], list[Embedding]], *, options: str = ""
) -> Embedding:
    """The embedding of a prompt from the cache; a miss runs `embed`.

    Args:
        encoder: folder of the text encoder's weights; other weights in the same place have other keys.
        prompt: the prompt.
        embed: embeds a list of prompts, one dictionary of tensors each.
        options: what else changes the embedding, such as length and dtype.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save_file

    path = _path(encoder, prompt, options)
    if path.is_file():
        try:
            return load_file(path)
        except SafetensorError:
            path.unlink()  # cut off by a full disk or a crash of the machine: make it again
    # Guidance always needs the empty prompt too, and loading the encoder costs far more than running it.
    prompts = list(dict.fromkeys([prompt, ""]))
    embeddings = embed(prompts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for text, embedding in zip(prompts, embeddings):
            target = _path(encoder, text, options)
            part = target.with_suffix(f".{os.getpid()}.part")
            save_file({name: tensor.cpu().contiguous() for name, tensor in embedding.items()}, part)
            part.rename(target)
    except OSError as error:
        raise KinemaError(f"{path}: cannot write the text cache ({error.strerror}); set KINEMA_CACHE") from None
    return embeddings[0]


def _path(encoder: Path, prompt: str, options: str) -> Path:
    key = hashlib.sha256(options.encode())
    # A hub file resolves to a blob named by its hash; a local one is told apart by place, size and time.
    for file in sorted(encoder.glob("*.safetensors")):
        stat = file.stat()
        key.update(f"\0{file.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}".encode())
    key.update(f"\0{prompt}".encode())
    return cache_folder() / "text" / f"{key.hexdigest()[:32]}.safetensors"
