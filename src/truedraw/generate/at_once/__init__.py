"""Rounds that come a few at once, while what was decided stands.

strides.py   when, how many, and what they are told as: of a text that is alone
plan.py      what is settled for them
machine.py   rounds that compiled code runs, all that Python does for them behind it; machines.py: for whom
loop.py      that code
abreast.py   the same of several texts; side.py: one of them; telling.py: behind them
plainly.py   where nothing is drafted, plainly_loop.py
drafted.py   where some draft, or a law edits logits, drafted_loop.py; companies.py: who draws together
hearing.py   drafters that hear of rounds once these are over
"""
