"""Procedural gaits and actions for any rig with legs."""
