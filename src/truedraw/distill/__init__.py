"""From a model to a head that drafts for it: texts, their features, training, a file. All of it goes on after a kill.

    texts -> features -> training -> head

plan.py         what is asked for: sizes, budget, where the work lies
clock.py        time that a stage has had
pipeline.py     the stages, one after the other, within one budget
outcome.py      what came of it
own_texts.py    texts that the target writes for itself
documents.py    texts of files
texts.py        the texts of a run, in a journal
computing.py    what the target knows and says at each row of a text
store.py        these features on disk
rows.py         the features as training reads them: training rows and held-out ones
tables.py       the target's embedding and output rows as arrays
known.py        the tokens that a head knows, and the target's law of them
network.py      the head's network in torch
losses.py       what is minimised: values and gradients
windows.py      the rows of one step
gradients.py    the gradient of one step
checkpoint.py   weights, optimiser and history on disk
schedule.py     how fast, and by which loss
starting.py     a head and its optimiser out of arrays
training.py     the loop
evaluation.py   acceptance on held-out text
siblings.py     what a second, third, ... candidate adds
export.py       the head's file and its card
report.py       the page about a training

Torch is needed from known.py on, and imported by functions alone.
"""
