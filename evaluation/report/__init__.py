"""The HTML page about one or more models."""
