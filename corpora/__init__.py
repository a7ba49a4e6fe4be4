"""From files to batches of arrays: readers, tokeniser, vocabulary, shards."""
