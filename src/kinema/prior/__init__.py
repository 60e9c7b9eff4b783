"""Stage 7: what a video diffusion model thinks of a video. A prior knows no 3D."""
