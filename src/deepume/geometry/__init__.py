"""Clouds alone: neighbors, frames, moments, rotations."""
