"""Estimators: the Python interface, on scikit-learn's base class."""
