"""Compiled kernels over rows of a vocabulary: one or two passes over memory where numpy's steps take ten.

A row's result depends on that row alone, bit for bit, whatever stands beside it and on however many threads.
"""

DRAWN = -1
"""For a kernel that draws or is given a token: none is given."""
