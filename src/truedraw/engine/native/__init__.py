"""Passes by kernels of this package, for processors: weights of 4 to 8 bits, int8 activations, a bfloat16 cache,
float32 between.

A pass over a few rows is bound by memory: every weight is read once. What a runtime does besides (kernels that are
chosen by shape, hundreds of small steps) takes as long again for small models, so here a pass is one call of compiled
code on every thread, which goes through all layers. A row's bits depend on nothing but its own text: sums of integers
are exact in any order, and all others run in one order, whatever else is computed beside.

blocks.py     how a matrix lies in memory; nested.py  codes whose scales are small integers
laying.py     how it comes to lie so
sums.py       the machine's own sums of products, of a block of eights.py, fours.py, fives.py or sixes.py, in terms of
              instructions.py
adders.py     how four products of 8 bits are added up, by what a processor has for it
grids.py      the same of many rows by matrix instructions: grid_eights.py and grid_fours.py, in terms of grid_code.py
machine.py    other operations of the machine: bfloat16, the bits of numbers
products.py   a matrix times rows; layers.py  one kind of matrix of all layers
softly.py     exp and other powers
heads.py      attention's sums, as the machine has them; pairs.py  of pairs of bfloat16
attention.py  one row's attention to its text
chunks.py     a text in parts, for several threads; spans.py  rows that look at it together
looking.py    what some rows find in some parts
attending.py  the stages of a pass that are attention
together.py   what threads/ share of any network
decoder.py    a whole pass
rows.py       what it is told of its rows; memory.py  what it works in
chain.py      pass after pass over one text; abreast.py  over several
weights.py    a model's weights, laid out for it
runner.py     from a batch's arrays to logits
"""
