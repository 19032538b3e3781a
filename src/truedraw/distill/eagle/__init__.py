"""Training of an EAGLE-3 draft (Li et al., 2503.01840): one decoder layer over all of a text.

layer.py       the layer's sizes
whole_rows.py  texts whose rows are all of their tokens, prompts included, and the batches of a training
network.py     the network in torch, by the formulas of draft/eagle/network.py
unrolling.py   drafts behind every row of a batch, each made of the network's own states (training-time test)
starting.py    where a training begins
gradients.py   the gradient of one step
evaluation.py  acceptance on held-out text
learner.py     all of these, as ../training.py wants them
export.py      the folder that `--draft` opens
stage.py       training and writing, one after the other

A draft reads the target's states of the whole text, so that prompts have features here, too. Its output rows are the
target's own rows of the tokens that it knows, times a matrix [width, width] that is learnt: an hour of text is too
little to learn 8,192 rows freely. They are multiplied out when the folder is written.
"""
