"""Stage 8: the one place where 3D meets diffusion: a prior's opinion of a video becomes joint angles."""
