"""Poses of many bodies, collected into shards that `kinema train-poses` learns from."""
