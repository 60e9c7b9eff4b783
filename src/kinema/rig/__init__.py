"""Rigs: kinematics, and what is measured of a rigged body (limbs, cuboids, joint limits; together an `Anatomy`).

`embed` gives a mesh a skeleton, `weights` gives it skin weights.
"""
