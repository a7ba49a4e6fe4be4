"""Runs and corpora in the formats of other toolkits: a file for each format."""
