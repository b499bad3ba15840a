"""A pair and a pose: scores, and refinements that bring the clouds closer."""
