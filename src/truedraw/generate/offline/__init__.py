"""Runs that outlive a process: batches of prompts and sweeps, into files that a killed run can go on with.

journal.py   the file of whole lines, one a result; repaired after a kill
locking.py   for one process at a time
settings.py  what the file was begun with, beside it
lines.py     a line of prompts to a request
done.py      which lines have a result, and which errors are tried again
batch.py     prompts in, results out, in order of completion
grid.py      the points of a sweep and their samples
sweep.py     a sweep's samples, all of them in one batch
parquet.py   the same samples as a table
"""
