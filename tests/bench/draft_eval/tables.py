"""A target with hidden states and a head for it, both tables: small enough to enumerate, and without OpenVINO."""

from pathlib import Path

import numpy as np

from truedraw.draft.head.opening import Head
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.model import Model
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.protocol import Scores
from truedraw.text import Tokenizer

KNOWN = (0, 1, 2, 3, 5)  # all words but one
DRAFT = {
    0: (0.1, 0.5, 0.2, 0.1, 0.1),
    1: (0.1, 0.1, 0.2, 0.5, 0.1),
    2: (0.3, 0.1, 0.2, 0.3, 0.1),
    3: (0.1, 0.3, 0.1, 0.1, 0.4),
    4: (0.1, 0.2, 0.1, 0.2, 0.4),
    5: (0.6, 0.1, 0.1, 0.1, 0.1),
}
"""Of the known tokens behind each token."""
FILE = Path("tabular-head")


class Telling(TabularEngine):
    """Hidden states: two streams of three numbers, which nobody needs."""

    hidden_layers, hidden_size = (0,), 3

    def forward(self, works, fills=()):
        found = super().forward(works, fills)
        return [Scores(each.logits.astype(np.float32), np.ones((len(each.logits), 2, 3), np.float32)) for each in found]

    def embedding(self):
        return Matrix(np.zeros((self.vocab_size, 3), np.float32))


class TableCell:
    """draft.head.cell.Cell over DRAFT."""

    tokens = np.array(KNOWN, dtype=np.int64)

    def begin(self, features, last):
        assert features.shape[1:] == (2, 3)
        return self.step(np.zeros((len(last), 3), np.float32), last)

    def step(self, states, tokens):
        rows = np.array([DRAFT[token] for token in tokens.tolist()])
        return states, np.log(rows).astype(np.float32)


class OwnHeads:
    """What knows the head, in the place of files."""

    def __init__(self, drafts):
        self._drafts = drafts
        self.head_path = FILE

    def __getattr__(self, name):
        return getattr(self._drafts, name)

    def head(self, path):
        return Head(TableCell(), (0.5, 0.2, 0.1))


def toy_with_head():
    text = toy_text()
    model = Model("toy", Telling(TOY_TABLE), Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids))
    model.drafts = OwnHeads(model.drafts)
    return model
