"""Products of a head's matrices with a few rows, as fast as the processor reads the matrices.

blocks.py    how a matrix lies in memory
sums.py      the machine's own sums of products
products.py  a matrix times rows
step.py      a whole step of the recurrent head
"""
