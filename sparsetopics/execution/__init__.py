"""Where tasks run: this process, its threads, or a Dask cluster. Knows nothing of models."""
