"""Measured numbers as files, tables, figures and pages."""
