"""Motions: root path and joint angles in time, and where they come from."""
