"""What is said of an answer: rivals, symmetry, evidence, confidence."""
