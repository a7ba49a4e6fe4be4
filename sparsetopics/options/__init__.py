"""The options of training, and the registry of models, learners, likelihoods and moves."""
