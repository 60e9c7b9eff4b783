"""The embedded prior: a small video diffusion transformer that ships inside the package (docs/prior.md)."""
