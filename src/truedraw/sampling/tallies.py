"""Edits of a law that counts tokens, laid out for compiled rounds, which carry them on from token to token.

What stands there are Edits as a plain tuple, with memory behind the tokens of a text, and how many there are: a law's
edits at one place, and room for the tokens of the rounds to come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.protocol import Ints
from truedraw.sampling.edits import Edits, Seen

TEXT, OUTPUT = range(2)
"""Which text's numbers: of ids in its older part, and of its recent tokens."""
NO_EDITS: tuple[()] = ()
"""Of a law that edits nothing."""
Edited = tuple[Any, ...]
"""() or (Edits as a plain tuple; lengths [2, 2])."""


def edited_once(edits: Edits | None, room: int) -> Edited:
    """For rounds that draft so many tokens, until one joins the text."""
    if edits is None:
        return NO_EDITS
    texts = edits.text, edits.output
    text, output = ((ids, counts, longer(recent, room)) for ids, counts, recent in texts)
    return tuple(edits._replace(text=text, output=output)), lengths_of(*texts)


class Tallies:
    """Of one text, in memory that stays where it is; `room`: for tokens until `follow` is called anew."""

    def __init__(self, edits: Edits, room: int) -> None:
        self.room = room
        self._older: list[Ints | None] = [None, None]
        self._texts = texts = [_memory(seen, room) for seen in (edits.text, edits.output)]
        self._lengths = np.zeros((2, 2), np.int64)
        self.edited: Edited = tuple(edits._replace(text=texts[TEXT], output=texts[OUTPUT])), self._lengths
        self.follow(edits)

    def follow(self, edits: Edits) -> None:
        """The law edits this now; all but the tokens that it counts is as it was."""
        for which, (ids, counts, recent) in enumerate((edits.text, edits.output)):
            own = self._texts[which]
            if self._older[which] is not counts:
                own[0][: len(ids)], own[1][:], self._older[which] = ids, counts, counts
            own[2][: len(recent)] = recent
        self._lengths[:] = lengths_of(edits.text, edits.output)


def lengths_of(*texts: Seen) -> Ints:
    """[2, 2]"""
    return np.array([(len(ids), len(recent)) for ids, _, recent in texts], np.int64)


def longer(values: Ints, room: int) -> Ints:
    """With so many numbers behind them."""
    found = np.empty(len(values) + room, np.int64)
    found[: len(values)] = values
    return found


def _memory(seen: Seen, room: int) -> Seen:
    size = len(seen[1])
    return np.empty(size, np.int64), np.empty(size, np.int64), np.empty(room, np.int64)
