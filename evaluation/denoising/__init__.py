"""Removal of noise from images with a mixture of image patches."""
