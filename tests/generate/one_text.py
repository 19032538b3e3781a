"""What is asked of every drafter beside a tiny model: with a seed one text, alone and in a batch, whoever drafts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from draft.head.random_heads import card, write
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import Model, load
from truedraw.generate.result import Result
from truedraw.models import open_checkpoint
from truedraw.text import Tokenizer

CONFIG = tiny_config(context_length=512)
LAWS = {"plain": {}, "cold": {"temperature": 0.3}, "cut": {"top_p": 0.9, "top_k": 50}, "greedy": {"temperature": 0},
        "looks at the text": {"repetition_penalty": 1.2, "no_repeat_ngram": 3}}  # fmt: skip
PROMPTS = ("hello world", "12 12 12", "once upon a time there was", "Ωδ ✂ 犬", "a")
PAGE_BYTES = 2 * 2 * 2 * 32 * 16 * 4  # layers, keys and values, heads, slots, head_dim, float32
PAGES = 512 // 32 + 2  # those of the longest text, one to scratch on, one for a page that is copied


def likely(config=CONFIG) -> dict:
    """Random weights of a model that is sure of something: a draft can be right now and then."""
    tensors = random_tensors(config)
    tensors["model.norm.weight"] = tensors["model.norm.weight"] * 4
    return tensors


def beside_a_head(root: Path, **changes) -> SimpleNamespace:
    """A tiny model's folder, a cache, and a head for it, with its card, which may be of another kind."""
    folder = write_folder(root / "tiny", CONFIG, likely())
    fingerprint = Tokenizer.of(open_checkpoint(folder)).fingerprint
    said = card(target="tiny", tokenizer=fingerprint, vocab_size=CONFIG.vocab_size, width=CONFIG.hidden_size,
                layers=(0, 1), tokens=200, **changes)  # fmt: skip
    return SimpleNamespace(root=root, folder=folder, cache=root / "cache", said=said,
                           head=write(root / "tiny.safetensors", said))  # fmt: skip


def opened(place, **options) -> Model:
    return load(place.folder, cache=place.cache, threads=1, **options)


def tokens(result: Result) -> list:
    return [choice.tokens for choice in result.choices]


def check_one_text(model: Model, prompt: str, drafting: Any, *, drafted: int = 40, **settings) -> None:
    """`drafted`: more tokens than these, or it would not have been put to the test."""
    plain = model.generate(prompt, speculative=False, **settings)
    fast = model.generate(prompt, speculative=drafting, **settings)
    assert fast.fallback is None
    assert fast.stats.drafted > drafted
    assert tokens(fast) == tokens(plain)


def one_by_one(model: Model, **settings) -> list:
    """Tokens without drafts: every prompt under a law and a seed of its own."""
    return [tokens(model.generate(prompt, seed=number, speculative=False, **settings, **law))
            for number, (prompt, law) in enumerate(zip(PROMPTS, LAWS.values(), strict=True))]  # fmt: skip


def in_a_batch(model: Model, drafting: Sequence[Any], **settings) -> list[Result]:
    """The same texts at once, each with drafts of its own kind."""
    texts = zip(PROMPTS, LAWS.values(), drafting, strict=True)
    with model.batch() as batch:
        runs = [batch.add(prompt, seed=number, speculative=kind, **settings, **law)
                for number, (prompt, law, kind) in enumerate(texts)]  # fmt: skip
        while batch.step():
            pass
    results = [run.result() for run in runs]
    assert [result.fallback for result in results] == [None] * len(PROMPTS)
    return results
