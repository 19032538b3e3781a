"""Compiled kernels over rows of a vocabulary: one or two passes over memory where numpy's steps take ten.

A row's result depends on that row alone, bit for bit, whatever stands beside it and on however many threads.

draw.py, law.py      one token of a row, and its law written out; entry.py: as Python calls them
edit.py              what is done to single logits; patched.py: rows of which some are edited, edited.py: along a text
cutting.py, edges.py truncation
racing.py            the race that draws; clocks.py: its noise, looking.py, racing_few.py
spans.py, columns.py the vocabulary in spans, and the largest of each; survey.py: what every draw asks of a row
rowkinds.py          rows whose weights are computed when they are looked at
softmax.py           weights and their sums; exponential.py, totals.py
lanes.py             sums in one order; formulas.py: of what, bits.py: operations of the machine
lawful.py            what is asked of a drafter's law; likeliest.py: the likeliest tokens
"""

DRAWN = -1
"""For a kernel that draws or is given a token: none is given."""
