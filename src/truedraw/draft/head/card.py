"""What a draft head says about itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from truedraw.errors import BadFile

FORMAT, VERSION = "truedraw draft head", 1
RECURRENT, MEDUSA, HYDRA, PARALLEL = "recurrent", "medusa", "hydra", "parallel"
ATTENTIVE = "attentive"
KINDS = (RECURRENT, ATTENTIVE, MEDUSA, HYDRA, PARALLEL)
ATTENTION = 8, 64
"""Heads of an attentive head's attention, and numbers of each."""
ASKING, FOUND = "asking", "found"
"""Its matrices, beside the recurrent head's: (Q, K, V) [3 * 512, width], and A [width, 512]."""
BOUNDED = (MEDUSA, HYDRA, PARALLEL)
"""Kinds that have a head for each level, and so a last level."""
GROWS_FROM = {ATTENTIVE: RECURRENT}
"""Kinds that have all that another one has, so that a head of that one can be trained further as one of these."""
UNKNOWN = ""
"""The tokenizer of a checkpoint that does not say which it is for."""
MOST_HEADS = 16  # a file that says more is not meant: no more than a few levels are ever worth a draft
FALLING = (0.45, 0.22, 0.12, 0.08)
"""Chances of the first, second, ... candidate at one place, given that none before it was kept, where nothing was
measured."""


@dataclass(frozen=True, slots=True)
class Card:
    """For which target a head is, and what it reads and knows.

    layers: residual streams of the target that it reads, by their layers' numbers; the final norm's output always
    stands behind them, and a Medusa head reads that alone. tokens: how many of the target's it can draft. siblings:
    chances of candidates at one place, the first, the second given that the first was not kept, and so on. training:
    figures for people. heads: of a kind that has one a level.
    """

    kind: str
    target: str  # the model's name
    tokenizer: str  # fingerprint of its vocabulary
    vocab_size: int
    width: int  # of the target's hidden states
    layers: tuple[int, ...]
    tokens: int
    siblings: tuple[float, ...] = FALLING
    training: Mapping[str, Any] = field(default_factory=dict)
    heads: int | None = None

    @property
    def levels(self) -> int:
        """Tokens that it can draft behind one another; only of the kinds that have a last level."""
        assert self.heads is not None
        return self.heads

    @property
    def streams(self) -> int:
        """How many hidden states of a row it reads."""
        return len(self.layers) + 1

    def to_metadata(self) -> dict[str, str]:
        """As a safetensors file keeps it: strings."""
        try:
            card = json.dumps(asdict(self), sort_keys=True, allow_nan=False)
        except ValueError as error:
            raise BadFile(
                f"the card of this head for {self.target} has a figure that is no finite number; train it anew"
            ) from error
        return {"format": FORMAT, "version": str(VERSION), "card": card}

    @classmethod
    def from_metadata(cls, found: Mapping[str, str] | None, path: object) -> Card:
        """Raises BadFile for what is no draft head, of another version, or says nonsense."""
        if not found or found.get("format") != FORMAT:
            raise BadFile(f"{path} is no draft head; `truedraw train draft` makes one")
        if found.get("version") != str(VERSION):
            raise BadFile(f"{path} has version {found.get('version')} of the format, and this is {VERSION}; train anew")
        try:
            facts = json.loads(found["card"])
            json.dumps(facts, allow_nan=False)  # as whoever tells of it will
            card = cls(**{**facts, **{name: tuple(facts[name]) for name in ("layers", "siblings")}})
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise BadFile(f"{path} has a card that says nonsense ({type(error).__name__}: {error})") from error
        card.check(path)
        return card

    def check(self, path: object) -> None:
        """Raises BadFile where the numbers cannot be meant."""
        if self.kind not in KINDS:
            raise BadFile(f"{path} is a head of the kind {self.kind!r}; known are: {', '.join(KINDS)}")
        if self.kind in BOUNDED and not (type(self.heads) is int and 0 < self.heads <= MOST_HEADS):
            raise BadFile(f"{path} says {self.heads!r:.80} of its heads; a {self.kind} head has 1 to {MOST_HEADS}")
        if self.kind not in BOUNDED and self.heads is not None:
            raise BadFile(f"{path} says {self.heads!r:.80} of its heads; {called(self.kind)} has none a level")
        if self.kind == MEDUSA and self.layers:
            raise BadFile(f"{path} says that it reads the layers {self.layers!r:.80}; a {MEDUSA} head reads none")
        sizes: Sequence[Any] = (self.vocab_size, self.width, self.tokens)
        if not all(type(size) is int and size > 0 for size in sizes) or self.tokens > self.vocab_size:
            raise BadFile(f"{path} says {sizes} of its vocabulary, width and tokens; these cannot be")
        if not isinstance(self.training, Mapping):
            raise BadFile(f"{path} says {self.training!r:.80} of its training; that is no table of figures")
        if not all(type(layer) is int and layer >= 0 for layer in self.layers) or not _rise(self.layers):
            raise BadFile(f"{path} says that it reads the layers {self.layers!r:.80}; these cannot be")
        if not self.siblings or not all(is_chance(each) for each in self.siblings):
            raise BadFile(f"{path} says {self.siblings!r:.80} of its candidates; give each a chance from 0 to 1")


def called(kind: str) -> str:
    """A head of this kind."""
    return f"{'an' if kind == ATTENTIVE else 'a'} {kind} head"


def _rise(layers: Sequence[int]) -> bool:
    return all(one < other for one, other in pairwise(layers))


def is_chance(value: object) -> bool:
    """A number from 0 to 1."""
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]
