"""Rigid registration of two point clouds of one object, in one call."""

__version__ = "0.1.0"
