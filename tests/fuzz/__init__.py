"""Damaged and hostile files for every reader and loader; ``tests/fuzz_all.py`` is the command."""
