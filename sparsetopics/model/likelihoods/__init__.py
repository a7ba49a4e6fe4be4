"""What a cluster says about an observation: one file per data type."""
