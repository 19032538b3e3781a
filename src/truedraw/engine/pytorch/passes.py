"""The two ways to compute rows: all parts in one batch over what is kept, or each text alone, from its beginning."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from truedraw.engine.pytorch.kept import Kept
from truedraw.engine.pytorch.network import Network, as_array
from truedraw.engine.pytorch.parts import Found, Part, batch
from truedraw.engine.trees import paths

if TYPE_CHECKING:
    from torch import Tensor


class Passes(Protocol):
    """Computes parts and tells their sequences so."""

    def run(self, parts: Seq[Part]) -> list[Found | None]:
        """The wanted rows of each part, None for one that wants none."""
        ...


class CachedPasses:
    """One batch with padding and masks. Right for attention over keys and values at given positions, see probe.py."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def run(self, parts: Seq[Part]) -> list[Found | None]:
        """See Passes; the rows of the text and of all drafts are kept."""
        from transformers import DynamicCache

        if not parts:
            return []
        pasts, whole, cache = [_past(part) for part in parts], batch(parts), DynamicCache()
        _fill(cache, pasts, whole.past)
        shows = self._network.shows_text and any(part.untold for part in parts)
        most = max(part.num_scores for part in parts)
        logits, hidden = self._network.batch(whole, cache, most, whole.ids.shape[1] if shows else 0)
        if shows:
            _show(parts, hidden)
        for index, (part, past) in enumerate(zip(parts, pasts, strict=True)):
            fresh = _fresh(cache, index, part.num_rows)
            kept = fresh.copied() if past is None else past.joined(fresh)
            part.sequence.computed(kept, part.end, part.proposal)
        return [
            Network.rows(logits, hidden, index, part.num_scores) if part.scored else None
            for index, part in enumerate(parts)
        ]


class ReplayedPasses:
    """Each path of each tree as a text of its own, by a plain forward: right for every model, and slow.

    one_by_one: each node, where rows of a text are not those of its beginnings.
    """

    def __init__(self, network: Network, *, one_by_one: bool = False) -> None:
        self._network, self._one_by_one = network, one_by_one

    def run(self, parts: Seq[Part]) -> list[Found | None]:
        """See Passes; nothing is kept, and the text only counts as computed."""
        found = [self._rows(part) if part.scored else None for part in parts]
        for part in parts:
            if self._network.shows_text and not self._one_by_one and part.scored and part.untold:
                text = part.sequence.tokens[: part.end]
                _show([Part(part.sequence, part.end)], self._network.hidden(text))
            part.sequence.computed(None, part.end)
        return found

    def _rows(self, part: Part) -> Found:
        ids = part.proposal.tokens.tolist()
        rows: dict[int, tuple[Any, Any]] = {}
        for path in paths(part.proposal) or [[]]:
            text = [*part.sequence.tokens[: part.end], *(ids[node] for node in path)]
            logits, hidden = self._of_text(text, 1 + len(path))
            for place, node in enumerate([0, *(1 + node for node in path)]):
                rows.setdefault(node, (logits[place], None if hidden is None else hidden[place]))
        logits_rows, hidden_rows = zip(*(rows[node] for node in range(part.num_scores)), strict=True)
        return Found(np.stack(logits_rows), None if hidden_rows[0] is None else np.stack(hidden_rows))

    def _of_text(self, text: list[int], count: int) -> Found:
        """The last rows of a text."""
        if not self._one_by_one:
            return self._network.text(text, count)
        rows = [self._network.text(text[:end], 1) for end in range(len(text) - count + 1, len(text) + 1)]
        hidden = [each.hidden for each in rows if each.hidden is not None]
        return Found(np.concatenate([each.logits for each in rows]), np.concatenate(hidden) if hidden else None)


def _show(parts: Seq[Part], hidden: Any) -> None:
    """To each text the rows of its own that have no scores, of hidden [parts, rows, layers, width]."""
    for part, states in zip(parts, hidden, strict=True):
        if part.untold:
            own = states[len(states) - part.num_rows :]
            part.sequence.shown.show(part.past, as_array(own[: part.untold]))


def _past(part: Part) -> Kept | None:
    found = part.sequence.past()
    return found if found is None or found.rows == part.past else found.take(range(part.past))


def _fill(cache: Any, pasts: Seq[Kept | None], slots: int) -> None:
    """Give the cache the pasts of all parts, in the first of `slots` slots each."""
    known = next((past for past in pasts if past is not None), None)
    for layer, pair in enumerate(() if known is None else known.layers):
        padded = [
            _padded([None if past is None else past.layers[layer][kind] for past in pasts], like, slots)
            for kind, like in enumerate(pair)
        ]
        cache.update(*padded, layer)


def _padded(pasts: Seq[Tensor | None], like: Tensor, slots: int) -> Tensor:
    """[parts, heads, slots, head width], zeros where a part has nothing."""
    heads, _, width = like.shape
    whole = like.new_zeros((len(pasts), heads, slots, width))
    for index, past in enumerate(pasts):
        if past is not None:
            whole[index, :, : past.shape[1]] = past
    return whole


def _fresh(cache: Any, part: int, rows: int) -> Kept:
    """The last rows that the model has added for a part; views."""
    layers = [(layer.keys[part, :, -rows:], layer.values[part, :, -rows:]) for layer in cache.layers]
    return Kept(tuple(layers), rows)
