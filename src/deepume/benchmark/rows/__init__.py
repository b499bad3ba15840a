"""One method on many pairs: what is measured, and its statistics."""
