"""Rotations, rigid transforms, cameras and distance fields: geometry that knows no characters."""
