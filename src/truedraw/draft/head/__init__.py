"""A trained draft head: a small network that guesses what the target says next from the target's own hidden states.

card.py      what a head says about itself: its target, its shape, how it was trained
file.py      the file: a safetensors file whose metadata is the card
cell.py      the network as the drafter sees it, and where its numbers come from
compiled.py  the network as an OpenVINO graph
opening.py   from a file to a network that is ready for one target
reading.py   what is read of a round: the target's hidden states, and a law in what the head says
drafter.py   the drafter
"""
