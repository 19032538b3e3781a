"""Drafters, one a file, same names in the same order."""
