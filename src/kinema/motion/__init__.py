"""Motions: `Motion`, feet and stance, planting, loops, and what a user's words mean."""
