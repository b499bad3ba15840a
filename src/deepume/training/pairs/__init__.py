"""Shapes and pairs for training, made on the device."""
