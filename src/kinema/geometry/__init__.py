"""Geometry of plain arrays, below everything that knows characters.

Transforms and cameras in torch; triangle surfaces in numpy: areas, normals and samples (`surface`), nearest points
(`nearest`), ray casting (`rays`), the inside of a mesh (`inside`) and Pinocchio's distance field (`distance_field`).
"""
