"""Training: recipes, pairs made on the device, losses by method, one loop for all of them."""
