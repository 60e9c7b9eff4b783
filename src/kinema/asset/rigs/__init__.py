"""Regular rigs out of a file's: `orientation` (axes, scale, ground), `cleanup` (joint tree), `cleanup_fit` (motion)."""
