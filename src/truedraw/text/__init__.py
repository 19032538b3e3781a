"""Text to tokens and back: tokenizer, chat template, streaming by whole characters, stop strings."""

from truedraw.text.stops import StopStrings
from truedraw.text.streaming import Detokenizer
from truedraw.text.tokenizer import Tokenizer

__all__ = ["Detokenizer", "StopStrings", "Tokenizer"]
