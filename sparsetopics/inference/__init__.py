"""How it is learned: local steps, laps, learners, moves, growth and the training loop."""
