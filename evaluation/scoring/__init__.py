"""What can be scored, and the scores of one model."""
