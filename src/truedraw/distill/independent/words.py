"""The draft's embedding and output rows: the target's own, times a matrix that is learnt, and corrections.

    embedding(t) = e(t) A + a(t)        output(t) = o(t) B + b(t)

e and o are the target's rows, e scaled to a mean square of 1; a and b are there for the known tokens alone.
A step looks at all known tokens and at a few of the others, drawn at random: such a token stands for many, so that its
mass counts as many times, which makes sums over the whole vocabulary right in the mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.known import Known, fast_type
from truedraw.distill.rows import Rows
from truedraw.distill.store import TEMPERATURES
from truedraw.distill.tables import Tables
from truedraw.protocol import Ints

Tensor = Any  # torch.Tensor
Weights = Mapping[str, Tensor]
INTO, OUT = "embedding", "output"  # the matrices A and B [target's width, width]
OWN_INTO, OWN_OUT = "embedding.own", "output.own"  # a and b [known, width]
SAMPLED = 1024  # tokens besides the known ones that a step looks at
STREAM = 3  # of random numbers, beside the seed: these tokens
ROWS_AT_ONCE = 8192  # of a whole table


class Columns(NamedTuple):
    """tokens [columns], the known ones first; times [columns]: logarithm of how many tokens each stands for."""

    tokens: Ints
    times: NDArray[np.float32]

    def counted(self, logits: Tensor) -> Tensor:
        """Logits [rows, columns] with that added, in place."""
        import torch

        first = int(np.argmax(self.times != 0))  # those before stand for themselves
        if self.times.any():
            logits[:, first:] += torch.from_numpy(self.times[first:])
        return logits


class Vocabulary(Protocol):
    """What a network reads and says, in numbers."""

    vocab_size: int

    def embedded(self, weights: Weights, tokens: Ints) -> Tensor:
        """[..., width] of tokens [...]."""
        ...

    def rows(self, weights: Weights, tokens: Ints) -> Tensor:
        """[tokens, width]: times a state, logits."""
        ...

    def target(self, columns: Columns) -> Tensor:
        """[columns, target's width] in the fast type: times a final state, the target's logits."""
        ...


class Words:
    """The target's rows, and which tokens are known [known], rising."""

    def __init__(self, tables: Tables, known: Ints) -> None:
        import torch

        self.known, self.vocab_size = known, len(tables.embedding)
        self.scale = float(1 / np.sqrt(np.square(tables.embedding, dtype=np.float64).mean()))
        self._embedding = torch.from_numpy(tables.embedding)
        self._output = self._embedding if tables.tied else torch.from_numpy(tables.output)
        place = np.full(self.vocab_size, len(known))
        place[known] = np.arange(len(known))
        self._place = torch.from_numpy(place)
        self._rest = np.setdiff1d(np.arange(self.vocab_size), known)

    def embedded(self, weights: Weights, tokens: Ints) -> Tensor:
        """See Vocabulary."""
        import torch

        ids = torch.from_numpy(tokens)
        return (self._embedding[ids] * self.scale) @ weights[INTO] + self._own(weights[OWN_INTO], ids)

    def rows(self, weights: Weights, tokens: Ints) -> Tensor:
        """See Vocabulary."""
        import torch

        ids = torch.from_numpy(tokens)
        return self._output[ids] @ weights[OUT] + self._own(weights[OWN_OUT], ids)

    def columns(self, seed: int, step: int) -> Columns:
        """What a step looks at, by its number alone."""
        count, some = len(self._rest), self._rest
        if count > SAMPLED:
            chance = np.random.default_rng((seed, STREAM, step))
            some = self._rest[chance.integers(0, count, SAMPLED)]
        times = np.full(len(some), np.log(count / max(len(some), 1)) if count else 0.0)
        stood = np.concatenate([np.zeros(len(self.known)), times]).astype(np.float32)
        return Columns(np.concatenate([self.known, some]), stood)

    def target(self, columns: Columns) -> Tensor:
        """See Vocabulary."""
        import torch

        return self._output[torch.from_numpy(columns.tokens)].to(fast_type())

    def tables(self, weights: Weights) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Both tables multiplied out, each [vocab, width]."""
        import torch

        parts = np.array_split(np.arange(self.vocab_size), -(-self.vocab_size // ROWS_AT_ONCE))
        with torch.no_grad():
            into = torch.cat([self.embedded(weights, part) for part in parts])
            out = torch.cat([self.rows(weights, part) for part in parts])
        return into.numpy(), out.numpy()

    def _own(self, own: Tensor, ids: Tensor) -> Tensor:
        """a or b of ids [...], 0 where a token is not known. By F.embedding, whose gradient is the same each time."""
        from torch.nn.functional import embedding

        place = self._place[ids]
        is_known = place < len(own)
        return embedding(place * is_known, own) * is_known[..., None]


class Folded:
    """Tables that are multiplied out, [vocab, width] each, as a folder has them; `target` says what the target does."""

    def __init__(self, into: NDArray[np.float32], out: NDArray[np.float32], target: Vocabulary) -> None:
        import torch

        self.vocab_size, self.target = target.vocab_size, target.target
        self._into, self._out = torch.from_numpy(into), torch.from_numpy(out)

    def embedded(self, weights: Weights, tokens: Ints) -> Tensor:
        """See Vocabulary."""
        import torch

        return self._into[torch.from_numpy(tokens)]

    def rows(self, weights: Weights, tokens: Ints) -> Tensor:
        """See Vocabulary."""
        import torch

        return self._out[torch.from_numpy(tokens)]


def every(vocab_size: int) -> Columns:
    """The whole vocabulary."""
    return Columns(np.arange(vocab_size), np.zeros(vocab_size, np.float32))


def law(data: Rows, at: Ints, target: Tensor, columns: Columns, place: int = 0) -> Tensor:
    """The target's p [rows, columns] behind rows of the store, at a temperature of the store by its place."""
    import torch

    final = torch.tensor(data.features[at, -1]).to(target.dtype)
    logits = (final @ target.T).float()
    if TEMPERATURES[place] != 1:
        logits /= TEMPERATURES[place]
    return Known.of_logits(columns.counted(logits), data.on(data.normaliser[at, place]))
