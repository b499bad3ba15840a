"""Runtime shape checks for the whole package, and one table of tolerances."""

from jaxtyping import install_import_hook

install_import_hook("deepume", "beartype.beartype")

from hypothesis import settings  # noqa: E402

# Geometry on a busy machine may be slow once; a deadline would make good tests fail at random.
settings.register_profile("deepume", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("deepume")
