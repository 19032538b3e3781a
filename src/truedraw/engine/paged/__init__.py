"""Texts in the pages of a cache, and what a pass is to compute of them, whoever computes it."""
