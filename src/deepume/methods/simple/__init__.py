"""Methods that need nothing but this package and learn nothing."""
