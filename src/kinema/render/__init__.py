"""Kinema: render."""
