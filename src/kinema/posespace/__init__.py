"""Pose spaces: which poses a body can be in, as a denoiser over its joints' rotations. Knows rigs and no video."""
