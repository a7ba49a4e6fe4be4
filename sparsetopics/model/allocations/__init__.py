"""How clusters share the data: one file per sharing rule."""
