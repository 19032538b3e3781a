"""Whole rounds in one call of compiled code, for the rules and laws that most runs have.

After a pass of the target nothing that Python needs is near any more: in single steps a round of one text takes several
times as long as its numbers would. What is decided here is what the rules next door decide, token by token, from the
same noise; they are what is proved exact, and this is held to them.
"""
