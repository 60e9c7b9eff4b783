"""Skeletons for meshes without one: templates fitted to the medial axis."""
