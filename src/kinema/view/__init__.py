"""Kinema: view."""
