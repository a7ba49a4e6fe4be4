"""The corpus folder: manifests and shards, of documents or vectors."""
