"""Where bytes come from: files, archives, remote places, Parquet and Arrow."""
