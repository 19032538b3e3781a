"""How a GGUF's byte-level BPE cuts text into words, by the name in tokenizer.ggml.pre.

Only names whose rule is known exactly stand here. A rule is a list of patterns, each applied to what the ones
before left over and between; the patterns are those that llama.cpp and the models' own tokenizer.json give.
"""

from __future__ import annotations

from dataclasses import dataclass

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
ANY_CASE_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = ANY_CASE_SUFFIX + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = ANY_CASE_SUFFIX + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@dataclass(frozen=True, slots=True)
class WordRule:
    """How one family cuts words, and what else its tokenizer does."""

    patterns: tuple[str, ...]
    whole_words_first: bool = False  # a word that is a token is that token, whatever the merges say
    adds_bos: bool = False  # where the file does not say
    composes: bool = False  # text is brought to Unicode NFC first


DIGITS_APART = WordRule((r"\p{N}", GPT2))
LLAMA3_RULE = WordRule((LLAMA3,), whole_words_first=True, adds_bos=True)

WORD_RULES = {
    "default": WordRule((r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
    "gpt-2": WordRule((GPT2,)),
    "smollm": DIGITS_APART,
    "starcoder": DIGITS_APART,
    "llama-bpe": LLAMA3_RULE,
    "llama3": LLAMA3_RULE,
    "llama-v3": LLAMA3_RULE,
    "falcon3": LLAMA3_RULE,
    "qwen2": WordRule((QWEN2,), composes=True),
    "deepseek-r1-qwen": WordRule((QWEN2,)),
}
