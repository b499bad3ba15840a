"""The networks to compare with, written from their published descriptions."""
