"""Acceptance rules, one a file: numbers in, verdict out; no model, no state."""
