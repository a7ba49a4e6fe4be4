"""Images restored with a mixture of patches."""
