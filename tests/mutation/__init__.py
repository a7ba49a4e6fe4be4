"""Changes in the code that tests must notice; ``tests/mutants.py`` is the command."""
