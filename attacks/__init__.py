"""Known ways to lose exactness, each a small program: `python -m attacks` runs them and prints how far each one strays.

An attack is a small change of production code, or a rule of a few lines that stands alone. Its distance from the
target's law is enumerated, not sampled. The tests import the changes as mutants that the oracle must catch.
"""
