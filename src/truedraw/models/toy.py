"""The toy model "tabular": six words, the law of each next word written down. For trying things without a download."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truedraw.models.checkpoint import TextParts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOY_MODEL = "tabular"

WORDS = ("the", "Ġcat", "Ġdog", "Ġsat", "Ġran", ".")
"""The vocabulary, "Ġ" being the space before a word; the full stop ends a text."""
END = WORDS.index(".")

TOY_TABLE = {
    (): (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0,): (0.0, 0.6, 0.4, 0.0, 0.0, 0.0),
    (1,): (0.0, 0.05, 0.1, 0.6, 0.25, 0.0),
    (2,): (0.0, 0.1, 0.05, 0.25, 0.6, 0.0),
    (3,): (0.0, 0.15, 0.15, 0.0, 0.2, 0.5),
    (4,): (0.0, 0.2, 0.1, 0.2, 0.0, 0.5),
    (5,): (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
}
"""Probabilities of the next word after the last one."""


def toy_text() -> TextParts:
    """The tokenizer of the toy."""
    return TextParts(_tokenizer, eos_ids=(END,), description="six words")


def _tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="the"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
