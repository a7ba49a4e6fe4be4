"""Errors, arrays and batches, and files that are written safely and read with suspicion."""
