"""Rounds of a text that is alone, a few at once, while what was decided stands.

strides.py   when, how many, and what they are told as
plan.py      what is settled for them
machine.py   rounds that compiled code runs, all that Python does for them behind it
loop.py      that code
"""
