"""Clouds on their own: neighbors, frames, moments, rotations."""
