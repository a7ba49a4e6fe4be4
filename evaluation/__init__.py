"""How good a model is: held-out scores, coherence, diversity, reports, denoising."""
