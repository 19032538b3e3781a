"""Rounds to numbers: every statistic is computed from what the loop yields."""
