"""Creatures with a spine and two or four legs: dogs, humans, birds and dinosaurs alike."""
