"""Rigs as they come from the wild: facing, scale and odd joint trees made regular."""
