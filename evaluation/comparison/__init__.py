"""Several models side by side."""
