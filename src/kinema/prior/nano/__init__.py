"""The embedded prior: a small video diffusion transformer that ships inside the package (docs/prior.md).

`prior` is its face, `model` the network, `codec` its latents and size, `text` its sentence embeddings; `train` makes
the weights from clips that `data` films and `shards` keeps.
"""
