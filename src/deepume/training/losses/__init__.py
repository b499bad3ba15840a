"""What each network is trained to make small."""
