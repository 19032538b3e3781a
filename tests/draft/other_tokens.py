"""Tokenizers of a few tokens each, and a site of models for drafters whose model has another one."""

from __future__ import annotations

from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend

from truedraw.draft.site import OpenModel
from truedraw.engine.tabular import TabularEngine
from truedraw.text import Tokenizer


def letters(tokens, merges=(), control=(), **more) -> Tokenizer:
    """Byte-level BPE with these tokens in this order; `control` are control tokens behind them."""
    vocabulary = {token.replace(" ", "Ġ"): i for i, token in enumerate(tokens)}
    pairs = [tuple(pair.replace(" ", "Ġ").split("+")) for pair in merges]
    backend = Backend(models.BPE(vocab=vocabulary, merges=pairs))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True) for token in control])
    return Tokenizer(backend, **more)


class Site:
    """draft.site.Models with one model."""

    name = "the target"

    def __init__(self, target: Tokenizer, draft: Tokenizer, table, vocab_size=None) -> None:
        self.tokenizer, self._draft = target, draft
        self.vocab_size = vocab_size or target.vocab_size
        self.model = TabularEngine(table)

    def engine(self, name):
        raise AssertionError("these drafters take a model with any tokenizer")

    def any(self, name):
        return OpenModel(self.model, self._draft)


ABC = letters(["a", "b", "c"])
OTHER = letters(["ab", "d", "b", "a"], ["a+b"])
"""Shares a and b; has no c."""
