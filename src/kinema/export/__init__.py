"""Kinema: export."""
