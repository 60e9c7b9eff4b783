"""Stage 1: character files in."""
