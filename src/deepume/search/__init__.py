"""The default method, in the order in which a pair walks through it."""
