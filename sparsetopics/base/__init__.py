"""Errors, arrays and batches, and files that are written durably and read with suspicion."""
