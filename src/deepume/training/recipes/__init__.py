"""What decides a training run."""
