"""From places to acceptance by position, and to tokens a round of chains and trees.

A replay knows both laws at every place of a text, and so how many rounds speculation would have taken to write just
this text. A draft of the text's own token x is kept with min(p(x), q(x)), and x comes with p(x): given the text, x came
as a draft with w = min(1, q(x) / p(x)), and the first j drafts of a round are kept with w_1 ... w_j. So the rounds
from token t on are expected to be

    R(t) = 1 + sum_j P(j drafts kept | text) R(t + j + 1),

and tokens a round are all tokens over all R. A mean over places would be too high: where much is kept there are few
rounds. In trees a path of candidates has the product of their shares; with a seed every draft that meets is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.shape import Path, best
from truedraw.protocol import Floats, Ints

DEEPEST = 6  # drafts behind one another
CANDIDATES = 4  # at one place
MOST_NODES = 12  # of a tree
SURE = 1.96  # standard errors to the ends of an interval that holds in 95 of 100 cases
INDEPENDENT, COUPLED = "p/q", "coupled"
"""Rules that compare p with q (traversal and its special cases), and the rule of a run with a seed."""
RULES = (INDEPENDENT, COUPLED)
COLUMNS: dict[str, tuple[tuple[int, ...], Any]] = {
    "text": ((), np.int64),
    "index": ((), np.int64),
    "category": ((), object),
    "is_drafted": ((DEEPEST,), np.bool_),
    "chances": ((DEEPEST, CANDIDATES), np.float64),
    "shares": ((DEEPEST, CANDIDATES), np.float64),
    "matches": ((DEEPEST,), np.float64),
    "match_shares": ((DEEPEST,), np.float64),
    "ranks": ((DEEPEST,), np.int64),
}
"""Of Places: the shape of a row, and its numbers."""


@dataclass(frozen=True, slots=True)
class Places:
    """A row a place of a text, a column a draft behind it."""

    text: Ints  # [places] number of its text
    index: Ints  # [places] number of the last token that stands there
    category: NDArray[Any]  # [places] names
    is_drafted: NDArray[np.bool_]  # [places, DEEPEST]
    chances: Floats  # [places, DEEPEST, CANDIDATES] of that candidate to be the one kept, p/q rule
    shares: Floats  # the same: of the text's own token that come as this candidate
    matches: Floats  # [places, DEEPEST] of the first candidate, under shared noise
    match_shares: Floats  # [places, DEEPEST]
    ranks: Ints  # [places, DEEPEST] which candidate the text's own token was, by the text's own noise

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Places:
        """From a mapping of the columns a place."""
        columns: dict[str, Any] = {}
        for each in fields(cls):
            shape, kind = COLUMNS[each.name]
            values = np.array([row[each.name] for row in rows], dtype=kind)
            columns[each.name] = values.reshape(len(rows), *shape)
        return cls(**columns)

    @classmethod
    def joined(cls, parts: Sequence[Places]) -> Places:
        """One behind the other."""
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))

    def __len__(self) -> int:
        return len(self.text)

    def only(self, which: NDArray[np.bool_]) -> Places:
        """Some of the places [places]."""
        return replace(self, **{each.name: getattr(self, each.name)[which] for each in fields(self)})


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, with the ends of its 95 % interval, texts being the unit; no ends where there is one text."""

    mean: float
    low: float | None
    high: float | None


def ratio(above: Floats, below: Floats, least: float, most: float = np.inf) -> Mean | None:
    """Of the sums of above [texts] and below [texts], linearised for its error; None of nothing.

    The interval holds nothing below `least` or above `most`, which are possible at all.
    """
    if not below.sum() > 0:
        return None
    found = float(above.sum() / below.sum())
    if len(below) < 2:
        return Mean(found, None, None)
    off = ((above - found * below) ** 2).sum() * len(below) / (len(below) - 1)
    error = SURE * float(np.sqrt(off)) / float(below.sum())
    return Mean(found, min(found, max(least, found - error)), max(found, min(most, found + error)))


def mean(values: Floats, texts: Ints) -> Mean | None:
    """Of values [places], each from 0 to 1, in texts [places]."""
    _, number = np.unique(texts, return_inverse=True)
    counts = np.bincount(number).astype(np.float64)
    return ratio(np.asarray(np.bincount(number, values), np.float64), counts, 0.0, 1.0)


def by_position(places: Places, values: Floats) -> list[Mean | None]:
    """Means of values [places, DEEPEST] where something was drafted."""
    return [mean(values[drafted, depth], places.text[drafted]) for depth, drafted in enumerate(places.is_drafted.T)]


def candidates(places: Places, rule: str) -> list[float | None]:
    """Chances [CANDIDATES] of the candidates for one token, over all positions that were drafted; None of nothing."""
    drafted = places.is_drafted
    if not drafted.any():
        return [None] * CANDIDATES
    if rule == INDEPENDENT:
        return [float(value) for value in places.chances[drafted].mean(axis=0)]
    return [float((places.ranks[drafted] == number).mean()) for number in range(CANDIDATES)]


def chain_tokens(places: Places, rule: str) -> list[Mean | None]:
    """Tokens a round with chains of 1 to DEEPEST drafts."""
    share = places.shares[..., 0] if rule == INDEPENDENT else places.match_shares
    kept = np.cumprod(share, axis=1)[..., None] * np.triu(np.ones((DEEPEST, DEEPEST)))
    return tokens_a_round(places, kept)


def levels(places: Places) -> int:
    """How many drafts there are behind one another where most are: a draft may have a last level."""
    return int(places.is_drafted.any(axis=0).sum())


def trees(chances: Sequence[float | None], deepest: int = DEEPEST) -> list[tuple[Path, ...]]:
    """The trees of 1 to MOST_NODES nodes that draft/shape.py makes of these chances; the last may be equal."""
    worth = tuple(takewhile(lambda chance: chance > 0, (chance or 0.0 for chance in chances)))
    if not worth:
        return [()] * MOST_NODES
    falling = tuple(np.minimum.accumulate(worth).tolist())
    return [tuple(path for path, _ in best(nodes, falling, deepest)) for nodes in range(1, MOST_NODES + 1)]


def best_trees(places: Places, rule: str) -> list[tuple[Path, ...]]:
    """By the chances of these places, no deeper than anything was drafted at them."""
    return trees(candidates(places, rule), levels(places))


def tree_tokens(places: Places, rule: str, shapes: Sequence[Sequence[Path]]) -> list[Mean | None]:
    """Tokens a round with each of these trees."""
    came = {path: _came(places, rule, path) for path in {path for shape in shapes for path in shape}}
    kept = np.zeros((len(places), DEEPEST, len(shapes)))
    for number, shape in enumerate(shapes):
        for path in shape:
            kept[:, len(path) - 1, number] += came[path]
    return tokens_a_round(places, kept)


def _came(places: Places, rule: str, path: Path) -> Floats:
    """Chance [places] that the text's own tokens came as these candidates."""
    depths, numbers = np.arange(len(path)), np.array(path)
    if rule == COUPLED:
        found: Floats = (places.ranks[:, depths] == numbers).all(axis=1).astype(np.float64)
        return found
    shares: Floats = places.shares[:, depths, numbers].prod(axis=1)
    return shares


def tokens_a_round(places: Places, kept: Floats) -> list[Mean | None]:
    """By shapes, from the chance, given the text, that so many drafts or more are kept: [places, DEEPEST, shapes].

    None where nothing was drafted anywhere: of such rounds nothing is known.
    """
    if not places.is_drafted.any():
        return [None] * kept.shape[2]
    numbers = np.unique(places.text)
    own = [places.text == number for number in numbers]
    tokens = np.array([2 + int(places.index[which].max()) for which in own], dtype=np.float64)
    rounds = np.array([_rounds(places.index[which], kept[which]) for which in own])  # [texts, shapes]
    return [ratio(tokens, each, least=1.0) for each in rounds.T]


def _rounds(index: Ints, kept: Floats) -> Floats:
    """Expected rounds [shapes] of one text; its first token comes in a round of its own."""
    last = int(index.max()) + 1  # of its tokens
    left = np.zeros((last + DEEPEST + 2, kept.shape[2]))
    for row in np.argsort(-index).tolist():
        least = np.concatenate([np.ones((1, kept.shape[2])), kept[row], np.zeros((1, kept.shape[2]))])
        here = int(index[row])
        left[here] = 1.0 + ((least[:-1] - least[1:]) * left[here + 1 : here + 2 + DEEPEST]).sum(axis=0)
    return np.asarray(1.0 + left[0])
