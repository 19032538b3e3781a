"""Paired measurements: plain and speculative sampling of the same prompts, interleaved in one run."""
