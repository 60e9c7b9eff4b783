"""Kinema: splat."""
