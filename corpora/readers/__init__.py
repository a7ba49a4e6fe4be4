"""The input formats: from files to blocks of documents or items."""
