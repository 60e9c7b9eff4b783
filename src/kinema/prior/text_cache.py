"""Text embeddings on disk: a text encoder of 10 GB runs once per prompt and is freed."""

import hashlib
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kinema.errors import KinemaError
from kinema.prior.checkpoint import Placement, read_part, read_tokenizer

Embedding = dict[str, Tensor]
"""States of a text encoder (`text`) and which of its tokens are words (`mask`)."""


class PromptEmbeddings:
    """Embeddings of prompts on the prior's device: from memory, from the disk, or by running the text encoder."""

    def __init__(
        self, folder: Path, placement: Placement, encoder: Any, *, tokens: int | None, mask: bool = False
    ) -> None:
        """Embeddings of one checkpoint; other weights of its text encoder have other entries on disk.

        Args:
            encoder: the text encoder's class.
            tokens: length that prompts are padded or cut to; None: the tokenizer's own.
            mask: True if the encoder is shown the mask too, and its states after the prompt's end are zero.
        """
        self.folder, self.placement, self.encoder, self.tokens, self.mask = folder, placement, encoder, tokens, mask
        self.known: dict[str, Embedding] = {}

    def __call__(self, prompt: str) -> Embedding:
        if prompt not in self.known:
            embedding = self._from_disk(prompt) or self._embedded(prompt)
            self.known[prompt] = {name: tensor.to(self.placement.device) for name, tensor in embedding.items()}
        return self.known[prompt]

    def _from_disk(self, prompt: str) -> Embedding | None:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        path = self._path(prompt)
        try:
            return load_file(path) if path.is_file() else None
        except SafetensorError:
            path.unlink()  # cut off by a full disk or a crash of the machine: make it again
            return None

    def _embedded(self, prompt: str) -> Embedding:
        from safetensors.torch import save_file

        # Guidance always needs the empty prompt too, and loading the encoder costs far more than running it.
        prompts = list(dict.fromkeys([prompt, ""]))
        embeddings = self._run_encoder(prompts)
        path = self._path(prompt)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for text, embedding in zip(prompts, embeddings):
                target = self._path(text)
                part = target.with_suffix(f".{os.getpid()}.part")
                save_file({name: tensor.cpu().contiguous() for name, tensor in embedding.items()}, part)
                part.rename(target)
        except OSError as error:
            raise KinemaError(f"{path}: cannot write the text cache ({error.strerror}); set KINEMA_CACHE") from None
        return embeddings[0]

    @torch.no_grad()
    def _run_encoder(self, prompts: list[str]) -> list[Embedding]:
        """The text encoder's last states and the mask of its words; the encoder is freed on return."""
        device = self.placement.text_device
        model = read_part(self.encoder, self.folder, "text_encoder", dtype=self.placement.dtype).to(device)
        tokenizer = read_tokenizer(self.folder)
        length = {"padding": "max_length", "max_length": self.tokens or tokenizer.model_max_length, "truncation": True}
        words = tokenizer(prompts, **length, return_attention_mask=True, return_tensors="pt").to(device)
        states = model(words.input_ids, words.attention_mask if self.mask else None)[0]
        if self.mask:
            states = states * words.attention_mask[..., None].to(states)
        return [{"text": text, "mask": mask} for text, mask in zip(states, words.attention_mask.bool())]

    def _path(self, prompt: str) -> Path:
        key = hashlib.sha256(f"{self.encoder.__name__} {self.tokens} {self.mask} {self.placement.dtype}".encode())
        # A hub file resolves to a blob named by its hash; a local one is told apart by place, size and time.
        for file in sorted((self.folder / "text_encoder").glob("*.safetensors")):
            stat = file.stat()
            key.update(f"\0{file.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}".encode())
        key.update(f"\0{prompt}".encode())
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(os.environ.get("KINEMA_CACHE") or Path(cache) / "kinema")
        return folder / "text" / f"{key.hexdigest()[:32]}.safetensors"
