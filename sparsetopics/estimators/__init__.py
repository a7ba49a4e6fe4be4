"""The Python interface in the style of scikit-learn."""
