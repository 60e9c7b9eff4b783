"""Kinema: evaluate."""
