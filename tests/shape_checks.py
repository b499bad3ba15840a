"""Shape checks at run time are off where torch traces a network: there sizes are symbols, not numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

from jaxtyping import config


@contextmanager
def no_shape_checks() -> Iterator[None]:
    """A context in which annotations are not checked."""
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", False)
