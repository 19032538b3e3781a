"""A head that goes on learning from the texts it drafts for (Liu et al., online speculative decoding, 2310.07177).

What is learnt is a small correction of the head's logits; the compiled network stays as it is.

correction.py  the correction, and how it is added
cell.py        a cell with a correction on top
ring.py        places of rounds that have ended, in so many bytes
descent.py     one step on some of them
allowance.py   how much time that may take
round.py       the places of one text's round
learning.py    who keeps, who steps, and whether it helps
file.py        a head's file with a correction in it
"""
