"""Drafts of one decoder layer that reads the target's hidden states and the drawn tokens, and goes on by itself.

settings.py    what a folder's config.json says
checkpoint.py  a folder's settings and tensors, in the formats that such drafts are published in
names.py       what its tensors are called, format by format
parts.py       tensors that a draft may have or lack
constants.py   the numbers of the graphs
graphs.py      the graphs
network.py     the layer as OpenVINO graphs around its attention, and the formulas
attention.py   rotary positions, keys and values of a text, attention over these and over a draft's own ancestors
card.py        what our own training says of a draft
opening.py     from a folder to a network that is ready for one target
state.py       what is known of one text
branches.py    one text's drafted rows of one round
drafter.py     the drafter over an EAGLE draft
mtp.py         the drafter over the layer for multi-token prediction that a checkpoint carries itself
"""
