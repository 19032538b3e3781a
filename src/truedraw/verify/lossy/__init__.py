"""Rules that do not keep the target's law, behind a fence.

Nothing imports this folder. A rule in it is reached by its name in the registry's table of lossy verifiers, and that
only where `allow_lossy` was set (generate/fence.py). Its results are marked.

The rules stay functions of what they are given: each writes what it saw into a tally of its own and never reads it.
A tally is simpler than an Observer here, because whether a draft was audited is known to the rule alone.
"""
