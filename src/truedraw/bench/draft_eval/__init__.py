"""What a drafter with a law is worth on a model's own texts: acceptance by replay, tokens a round, speed.

places.py   p and q at one place: how much they overlap, how often they draw the same
texts.py    plain texts of the target, and what it says along them
replay.py   what the drafter says along them
rounds.py   from places to acceptance by position and tokens a round, of chains and of trees
costs.py    what drafts take, and what speed-up that predicts
plan.py     what is to be found out
report.py   all of it at one temperature
figures.py  what of it a head's card says
conditions.py  for which prompts and settings that is
"""
