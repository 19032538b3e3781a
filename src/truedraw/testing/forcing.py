"""A law that leaves no choice about the first tokens, as a grammar does: drafters are asked behind these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.sampling.grammar import Grammar


class Beginning:
    """grammar.Matcher of the texts that begin with these tokens."""

    def __init__(self, tokens: Sequence[int], vocab_size: int) -> None:
        self._tokens, self._vocab_size = tuple(tokens), vocab_size

    def deep_copy(self) -> Beginning:
        """Another one."""
        return Beginning(self._tokens, self._vocab_size)

    def consume_token(self, sampled_token: int) -> bool:
        """Go on by a token; False where another had to come."""
        legal = sampled_token in (self._tokens[:1] or (sampled_token,))
        self._tokens = self._tokens[1:]
        return legal

    def compute_bitmask(self) -> bytes:
        """One bit a token, lowest first."""
        legal = np.ones(self._vocab_size, bool)
        if self._tokens:
            legal = np.arange(self._vocab_size) == self._tokens[0]
        return np.packbits(legal, bitorder="little").tobytes()

    def is_error(self) -> bool:
        """Never."""
        return False

    def get_error(self) -> str:
        """None."""
        return ""


def forcing(tokens: Sequence[int], vocab_size: int) -> Grammar:
    """The step of a law under which texts begin with these tokens."""
    return Grammar("grammar", Beginning(tokens, vocab_size), frozenset())
