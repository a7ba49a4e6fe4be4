"""Training on disk: plans, checkpoints, and the folder of a run."""
