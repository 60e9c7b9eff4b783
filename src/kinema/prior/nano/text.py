"""Sentence embeddings, under the name that nano has always had for them."""

from kinema.minilm import embed_texts, model_folder

__all__ = ["embed_texts", "model_folder"]
