"""Rigid registration of two point clouds of one object, in one call."""

from deepume.api import get_method, list_methods, register
from deepume.errors import DeepumeError
from deepume.io import read_points, write_points
from deepume.methods.entry import Claim, Method
from deepume.result import Diagnostics, Hypothesis, Registration, Symmetry
from deepume.transform import RigidTransform

__version__ = "0.1.0"

__all__ = [
    "Claim",
    "DeepumeError",
    "Diagnostics",
    "Hypothesis",
    "Method",
    "Registration",
    "RigidTransform",
    "Symmetry",
    "get_method",
    "list_methods",
    "read_points",
    "register",
    "write_points",
]
