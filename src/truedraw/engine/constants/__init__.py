"""Weights in the form that passes read: converted once, kept on disk, mapped when a model is opened."""
