"""Stage 2: joint trees, their kinematics, and weights for meshes that have none."""
