"""Families of procedural shapes: each draws its sizes and returns its surface and its rotation symmetry."""

from deepume.datasets.shapes.families import furniture, household, organic, solids, tools, vehicles
from deepume.datasets.shapes.families.blueprint import Family

FAMILIES: dict[str, Family] = {
    **solids.FAMILIES,
    **furniture.FAMILIES,
    **household.FAMILIES,
    **vehicles.FAMILIES,
    **tools.FAMILIES,
    **organic.FAMILIES,
}
"""Every family by its name."""
