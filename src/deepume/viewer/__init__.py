"""Seeing a registration."""
