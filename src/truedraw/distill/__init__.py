"""From a model to a head that drafts for it: texts, their features, training, a file. All of it goes on after a kill.

    texts -> features -> training -> head

plan.py         what is asked for: sizes, budget, where the work lies
clock.py        time that a stage has had
pipeline.py     the stages, one after the other, within one budget
preparing.py    those before training
stages.py       what a training begins and ends with, whatever its kind
outcome.py      what came of it
asking.py       what a user says, as the model gets it
further.py      a head that is trained further; before.py  as it was when its plan was made
own_texts.py    texts that the target writes for itself
documents.py    texts of files
texts.py        the texts of a run, in a journal; work_journal.py  one that tells of a full disk
gathering.py    until there are enough of them
watching.py     what the target knew of a text while it wrote it
computing.py    what the target knows and says at each row of a text
halves.py       their numbers, and those of folders
store.py        these features on disk
rows.py         the features as training reads them: training rows and held-out ones
tables.py       the target's embedding and output rows as arrays
known.py        the tokens that a head knows, and the target's law of them
network.py      what a head's network in torch is
kinds/          the kinds of networks, a file each
head.py         a head while it learns: a network and what it works with
rounding.py     it learns as it will be read, with some matrices in codes of four bits
looking_back.py what rows look back at, of a kind that does
losses.py       what is minimised: values and gradients
windows.py      the rows of one step
gradients.py    the gradient of one step
checkpoint.py   weights, optimiser and history on disk
schedule.py     how fast, and by which loss
read_values.py  whether what was read of JSON is what a training writes
state.py        where a training is, as its checkpoint says
outputs.py      whether what is written at the end can be written
starting.py     a head and its optimiser out of arrays
learning.py     what the loop asks of whatever learns
training.py     the loop, whatever learns
learner.py      a head that learns
evaluation.py   acceptance on held-out text
siblings.py     what a second, third, ... candidate adds
export.py       the head's file and its card
folders.py      drafts that are folders
history.py      how a training went, for its card
outlook.py      what ten times as much might give
outlook_page.py the same on a page
report.py       the page about a training
comparison/     losses beside one another
eagle/          an EAGLE-3 draft, which reads whole texts: its own network, gradient and folder
independent/    a transformer of its own instead of a head: its own network, gradient and folder
wide/           the same training where torch runs the target

Torch is needed from known.py on, and imported by functions alone.
"""
