"""What the tests of the model drafter share: a table, an engine that counts, and one round of drafts."""

from __future__ import annotations

from known_laws import random_table
from truedraw.draft.model import ModelDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import OutOfPages
from truedraw.protocol import Proposal
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening

TABLE = random_table(6, 1, 20)


class Counting(TabularEngine):
    """Counts passes and their works; has no room for more than `most` texts at once."""

    def __init__(self, table, most=99, **more):
        super().__init__(table, **more)
        self.passes, self.most = [], most

    def forward(self, works, fills=()):
        if len(works) > self.most:
            raise OutOfPages("the cache is out of pages")
        self.passes.append([len(work.proposal) for work in works])
        return super().forward(works, fills)


def law(**params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0,), 6))


class Trouble:
    """A law, or anything else that is called, that raises an error at its call number `at`, once."""

    def __init__(self, inner, error: BaseException, at: int) -> None:
        self.inner, self.error, self.left = inner, error, at

    def __call__(self, *given, **more):
        self.left -= 1
        if self.left == 0:
            raise self.error
        return self.inner(*given, **more)

    def after(self, token, p=None):
        return self

    def forced(self, limit):
        return ()


def propose(drafter: ModelDrafter, budgets=(3,), texts=None, target=None, seed=1) -> list[Proposal]:
    texts = texts or [[0, 1 + i] for i in range(len(budgets))]
    states = [drafter.open(text, target or law()) for text in texts]
    return drafter.propose(states, list(budgets), [PhiloxRandomness(seed, i) for i in range(len(budgets))])
