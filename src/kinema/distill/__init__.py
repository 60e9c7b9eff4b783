"""Kinema: distill."""
