"""What the tests of the index share: files made of small texts, and a model without a name."""

from __future__ import annotations

import numpy as np

from truedraw.draft.index.header import Header
from truedraw.draft.index.layout import END
from truedraw.draft.index.segments import Means
from truedraw.draft.index.writing import add, build

ENOUGH = 1 << 20  # bytes to sort in
EMPTY = Header("a model", "its tokenizer")


def arrays(texts):
    return [np.array([*text, END], np.int32) for text in texts]


def means(path, **more):
    return Means(**{"memory_bytes": ENOUGH, "folder": path.parent, **more})


def index_of(path, *batches, **more):
    """An index at `path`: the first batch of texts is built, the others are added."""
    header = build(path, arrays(batches[0]), EMPTY, means(path, **more))
    for batch in batches[1:]:
        header = add(path, arrays(batch), EMPTY.fingerprint, means(path, **more))
    return header
