"""Skin weights for a mesh and a skeleton: bone heat."""
