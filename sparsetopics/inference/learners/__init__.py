"""How statistics of batches become global parameters: one file per algorithm."""
