"""Kinema: physics."""
