"""What a user may choose, and what there is to choose from."""
