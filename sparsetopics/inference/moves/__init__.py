"""Moves that change the number of topics."""
