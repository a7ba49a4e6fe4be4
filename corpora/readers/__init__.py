"""One file per input format."""
