"""A small transformer of its own that drafts for a model: distilled from what the model said, kept as a llama folder.

plan.py        what is asked for, and the sizes that follow
whole_texts.py texts with their prompts, and the batches of a training
network.py     the llama network in torch
words.py       the draft's embedding and output rows, made of the target's
starting.py    where a training begins
gradients.py   the gradient of one step
evaluation.py  acceptance on held-out text
learner.py     all of these, as ../training.py wants them
export.py      the folder that `--spec-model` opens
stage.py       training and writing, one after the other

A vocabulary of 49,152 tokens and a width of 192 make a table of 9.4 million numbers, eight times as many as the layers
have. To learn it freely takes more text than an hour gives: a token that never came keeps what chance gave it. So the
tables are products: the target's own rows, which know what a token means, times a matrix [target's width, width] that
is learnt; only the tokens that come often have a correction of their own. Both are multiplied out when the folder
is written, so that what reads it finds a plain llama model. Input and output have matrices of their own: an input row
is looked up, so that a table of its own takes disk and memory, and no time.
"""
