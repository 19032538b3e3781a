"""A trained draft head: a small network that guesses what the target says next from the target's own hidden states.

card.py        what a head says about itself: its target, its shape, how it was trained
file.py        the file: a safetensors file whose metadata is the card
noting.py      further figures in the card of a file that is there
cell.py        the network as the drafter sees it, and where its numbers come from
kinds/         the kinds of networks, a file each: formulas and OpenVINO graphs
compiled.py    what these graphs are made of
four_bits.py   matrices in codes of four bits; kept.py  kept on disk as kernels read them
refit/         what is learnt on top of a head while it drafts
opening.py     from a file to a network that is ready for one target
medusa/        checkpoints of others
shipped/       the heads that come with truedraw
reading.py     what is read of a round: the target's hidden states, and a law in what the head says
state.py       what is known of one text
known_rows.py  the rows of a text that a head is told of next
levels.py      the trees of a round, one call of the network a level
chain.py       the chain of one text; chain_job.py  those of some texts in compiled code
drafter.py     the drafter
"""
