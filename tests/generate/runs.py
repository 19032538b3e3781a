"""Runs of the production loop, under the name that tests use."""

from truedraw.testing.runs import PROMPT, run

__all__ = ["PROMPT", "run"]
