"""How pairs are made from shapes, and how answers are compared with the truth."""
