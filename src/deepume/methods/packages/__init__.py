"""Methods of other packages, to compare with; they need the extra ``bench``."""
