"""Skeletons for meshes without one: templates (`templates`) fitted to balls that fill the mesh (`medial`)."""
