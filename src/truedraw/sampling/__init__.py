"""Logits to p in one documented order, and the randomness that draws from p."""
