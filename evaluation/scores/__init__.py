"""Numbers from arrays."""
