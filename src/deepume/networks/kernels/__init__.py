"""Triton kernels for GPUs; each does what a plain function elsewhere defines, only faster.

Triton comes with GPU builds of torch, so the modules here are imported where they are used.
"""
