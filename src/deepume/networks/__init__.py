"""What learns: the networks, their kernels and their weights."""
