"""Kinema: prior."""
