"""What is learned: statistics, weights, likelihoods and the models that they make."""
