"""Where bytes come from: files, archives, URLs, Parquet and Arrow, all read with suspicion."""
