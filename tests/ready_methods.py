"""Methods that run on this machine, and quickly enough for a test."""

from deepume.api import METHODS, why_unavailable
from deepume.methods.entry import Claim

READY = [entry.name for entry in METHODS if why_unavailable(entry) is None and entry.name != "grid-icp-576"]
"""Neither without weights nor without their package; the larger grid does as the smaller one, eight times slower."""
UNEQUAL = [name for name in READY if not name.startswith("rgm")]
"""Those that take clouds of unequal size."""
DETERMINISTIC = [entry.name for entry in METHODS if entry.name in READY and Claim.DETERMINISTIC in entry.claims]
