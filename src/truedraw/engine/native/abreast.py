"""The last tokens of several texts, and drafts behind them, pass after pass: what `compute` takes of them changes in
place (see rows.py)."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from itertools import accumulate, chain, pairwise

import numpy as np

from truedraw.engine.native.chain import NONE, Told
from truedraw.engine.native.spans import Sharing


def rows_abreast(pages: Seq[Seq[int]], counts: Seq[int], longest: int, shown: bool, sharing: Sharing) -> Told:
    """Of texts that have these pages, so many rows each, for up to so many tokens; shown: hidden states are wanted of
    all rows."""
    texts, begins = len(pages), np.array([*accumulate(counts, initial=0)], np.int64)
    n = int(begins[-1])
    rows, page_begins = np.arange(n, dtype=np.int64), np.array([*accumulate(map(len, pages), initial=0)], np.int64)
    numbers = np.empty(n, np.int64), np.empty(n, np.int64), rows, rows if shown else NONE
    whole = np.array([*chain.from_iterable(pages)], np.int64)
    masks, mask_begins = np.zeros(0, np.uint8), np.zeros(texts + 1, np.int64)
    lane_of = np.repeat(np.arange(texts, dtype=np.int64), counts)
    spans = [start for first, end in pairwise(begins.tolist()) for start in range(first, end, sharing.most)]
    past = np.empty(texts, np.int64)
    return numbers, (
        past, begins, whole, page_begins, masks, mask_begins, lane_of, np.array(spans, np.int64), longest
    )  # fmt: skip
