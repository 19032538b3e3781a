"""The last tokens of several texts, pass after pass: what `compute` takes of them changes in place (see rows.py)."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from itertools import accumulate, chain

import numpy as np

from truedraw.engine.native.chain import NONE, Told


def rows_abreast(pages: Seq[Seq[int]], longest: int, shown: bool) -> Told:
    """Of texts that have these pages, for up to so many tokens; shown: hidden states are wanted of all rows."""
    n = len(pages)
    rows, ends = np.arange(n, dtype=np.int64), np.arange(n + 1, dtype=np.int64)
    page_begins = np.array([*accumulate(map(len, pages), initial=0)], np.int64)
    numbers = np.empty(n, np.int64), np.empty(n, np.int64), rows, rows if shown else NONE
    whole = np.array([*chain.from_iterable(pages)], np.int64)
    masks, mask_begins = np.zeros(0, np.uint8), np.zeros(n + 1, np.int64)
    return numbers, (np.empty(n, np.int64), ends, whole, page_begins, masks, mask_begins, rows, rows, longest)
