"""Procedural shapes: surfaces, proportions, and the symmetry of each."""
