"""Losses compared: a head for each of them, out of the same texts and features, within the same number of steps or the
same time.

wanted.py       what is asked for, and where it lies
running.py      the trainings, one after the other or by turns, and their results in a journal
results.py      whether that journal holds what a comparison writes
prompts.py      texts to prompts that nothing is trained on, and their features
seen.py         what a head keeps of each text
intervals.py    means over texts, differences of losses, and how far to trust them
told.py         all of it as numbers
page.py         all of it as a page
"""
