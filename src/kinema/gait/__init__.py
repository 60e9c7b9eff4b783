"""Procedural motions with true stance for any body with legs."""
