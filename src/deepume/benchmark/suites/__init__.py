"""What is measured together."""
