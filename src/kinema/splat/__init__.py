"""Gaussians: covering a mesh with them (`cover`), colours, skin weights (`transfer`), posing, .ply files."""
