"""Grammars small enough to be written down: a matcher over a finite set of texts, and llguidance over a few tokens."""

from __future__ import annotations

import numpy as np
from llguidance import LLTokenizer, TokenizerWrapper

from known_laws import Scenario, lookup, normalised, transformed
from truedraw.sampling.grammar import Grammar, opened
from truedraw.testing.stuck import STUCK

END = 3
TOKENS = (b"a", b"b", b"c", b"<end>")


class Words:
    """grammar.Matcher over token sequences, each with its end token."""

    def __init__(self, words, text=()) -> None:
        self.words, self.text = words, tuple(text)

    def next(self) -> set[int]:
        n = len(self.text)
        return {word[n] for word in self.words if len(word) > n and word[:n] == self.text}

    def deep_copy(self):
        return Words(self.words, self.text)

    def consume_token(self, sampled_token: int) -> bool:
        legal = sampled_token in self.next()
        self.text = (*self.text, sampled_token)
        return legal

    def compute_bitmask(self) -> bytes:
        return np.packbits([i in self.next() for i in range(4)], bitorder="little").tobytes()

    def is_error(self) -> bool:
        return False

    def get_error(self) -> str:
        return ""


def finite(words) -> Grammar:
    return Grammar("grammar", Words(tuple(map(tuple, words))), frozenset({END}))


class Letters:
    """What llguidance asks of a tokenizer, over tokens written down."""

    def __init__(self, tokens, end) -> None:
        self.tokens, self.eos_token_id, self.bos_token_id, self.special_token_ids = list(tokens), end, None, [end]

    def __call__(self, data: bytes) -> list[int]:
        ids = []
        while data:
            longest = max((t for t in self.tokens if data.startswith(t)), key=len, default=None)
            if longest is None:
                break
            ids.append(self.tokens.index(longest))
            data = data[len(longest) :]
        return ids


def guidance(tokens=TOKENS, end=END, vocab_size=None) -> LLTokenizer:
    return LLTokenizer(TokenizerWrapper(Letters(tokens, end)), n_vocab=vocab_size or len(tokens), eos_token=[end])


def llguidance_step(parameter: str, text: str, tokens=TOKENS, end=END) -> Grammar:
    return opened(parameter, text, guidance(tokens, end), frozenset({end}))


def legal_after(grammar: Grammar, text, vocab_size: int) -> set[int]:
    """The mask's definition, without its history: a matcher that has seen nothing else than the text."""
    matcher = grammar.matcher.deep_copy()
    for token in text:
        assert matcher.consume_token(token)
    bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")[:vocab_size]
    return set(np.flatnonzero(bits).tolist())


def masked_text_law(scenario: Scenario, prompt, legal) -> dict[tuple[int, ...], float]:
    """The law of the text by definition: at every place p over the legal tokens; `legal(text)` is the set of them."""
    law: dict[tuple[int, ...], float] = {}
    open_texts = [((), 1.0)]
    while open_texts:
        text, weight = open_texts.pop()
        if len(text) == scenario.max_tokens or (text and text[-1] in scenario.end_ids):
            law[text] = law.get(text, 0.0) + weight
            continue
        row, allowed = lookup(scenario.target, [*prompt, *text]), legal(text)
        masked = [w if i in allowed else 0.0 for i, w in enumerate(row)]
        if not any(masked):
            law[(*text, STUCK)] = weight
            continue
        p = transformed(normalised(masked), **scenario.params)
        open_texts += [((*text, token), weight * w) for token, w in enumerate(p) if w > 0]
    return law
