"""Readers and writers of single formats."""
