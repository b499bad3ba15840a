"""Where hypotheses come from, one file each."""
