"""What the target knew while it wrote a text, kept as it goes by: no pass has to be made for it again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.computing import laws_of
from truedraw.distill.halves import halved
from truedraw.distill.store import ROW, Store
from truedraw.distill.texts import Text
from truedraw.protocol import Proposal, Rows, Verdict


class Watch:
    """protocol.Observer of one text that is drawn without drafts, by an engine that returns hidden states."""

    def __init__(self) -> None:
        self._features: list[NDArray[np.float16]] = []  # [streams, width] each
        self._rows: list[NDArray[Any]] = []  # [1] ROW each

    def __call__(self, sample: int, proposal: Proposal, rows: Rows, verdict: Verdict) -> None:
        """See protocol.Observer."""
        seen: Any = rows  # generate.lent_rows.WatchedRows
        self._features.append(halved(seen.hidden[0]))
        self._rows.append(laws_of(seen.logits(verdict.tokens[:1])[0][None]))

    def features(self, text: Text) -> tuple[NDArray[np.float16], NDArray[Any]]:
        """What computing.features_of would find: hidden states [rows, streams, width] and ROWs [rows]."""
        count = len(text.answer)
        rows = np.concatenate(self._rows[:count]) if count else np.zeros(0, ROW)
        rows["token"] = [text.prompt[-1], *text.answer[:-1]]
        return np.stack(self._features[:count]), rows


class Keeping:
    """Puts what was watched into a store, text by text, as long as the store has every text before and room."""

    def __init__(self, store: Store, most_bytes: int) -> None:
        self._store, self._most_rows = store, most_bytes // store.shape.row_bytes
        self._goes_on = True

    def watched(self) -> Watch | None:
        """For the next text; None once a text was left out, since none behind it is taken."""
        return Watch() if self._goes_on else None

    def add(self, number: int, text: Text, watch: Watch | None) -> None:
        """Text number `number`, from 0. What is left out is computed later, if there is room."""
        store = self._store
        fits = store.rows + len(text.answer) <= self._most_rows and store.has_room(len(text.answer))
        if watch is None or store.texts != number or not fits:
            self._goes_on = False
            return
        store.append(*watch.features(text), text.temperature, store.seconds)
