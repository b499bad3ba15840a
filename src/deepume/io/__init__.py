"""Reading and writing clouds: anything in, points out. The formats are one table, ``formats.py``."""

from deepume.io.contents import SAMPLE_POINTS
from deepume.io.formats import known_extensions
from deepume.io.objects import as_points
from deepume.io.packages import import_package
from deepume.io.reading import describe_file, read_points
from deepume.io.summary import FileSummary
from deepume.io.writing import write_points

__all__ = [
    "SAMPLE_POINTS",
    "FileSummary",
    "as_points",
    "describe_file",
    "import_package",
    "known_extensions",
    "read_points",
    "write_points",
]
