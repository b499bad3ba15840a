"""The fit of the confidence of the default method."""
