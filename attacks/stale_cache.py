"""Rejected drafts stay in the cache: the model goes on from what it was once shown."""

from attacks.attack import Attack, enumerated
from truedraw.draft.ngram import NgramDrafter
from truedraw.engine.tabular import TabularEngine, TabularSequence


class StaleSequence(TabularSequence):
    """Remembers everything it was shown."""

    def __init__(self, tokens):
        super().__init__(tokens)
        self.shown = list(tokens)

    def commit(self, tokens):
        self.shown.append(tokens[-1])
        super().commit(tokens)


class StaleCache(TabularEngine):
    """Appends drafts and never takes them back."""

    def open(self, tokens):
        return StaleSequence(tokens)

    def forward(self, works, fills=()):
        scores = super().forward([_Shown(work) for work in works], fills)
        for work in works:
            work.sequence.shown += work.proposal.tokens.tolist()
        return scores


class _Shown:
    def __init__(self, work):
        self.proposal = work.proposal
        self.sequence = TabularSequence(work.sequence.shown)


ATTACK = Attack(
    "rejected drafts are not rolled back",
    enumerated(drafter=NgramDrafter(1, 1), engine=StaleCache, prompt=(0, 1, 0)),
    "[mlx-lm #1486](https://github.com/ml-explore/mlx-lm/pull/1486) (recurrent state and rotating caches), "
    "[mlx-lm #1427](https://github.com/ml-explore/mlx-lm/pull/1427)",
)
