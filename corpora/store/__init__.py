"""The corpus folder: shards and manifests."""
