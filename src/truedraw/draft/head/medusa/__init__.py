"""Medusa checkpoints of others as heads of the kind "medusa".

own.py         the format of Medusa's own repository
blocks.py      the format of speculators and of vLLM
names.py       what both are asked for
folder.py      which of them a folder is
"""
