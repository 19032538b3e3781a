"""Engines that are right for narrow trees, drafted tokens, first forks and rows of logits: the suite looks further."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakSet

import numpy as np
import pytest

from testing.failures import failures
from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.protocol import ROOT, Scores, TextRows, Work
from truedraw.testing import engine_checks, random_table

TABLE = random_table(4, 2, 1)
HAIR = 1 + 1e-9


class WrongInWideTrees(TabularEngine):
    """From the fifth sibling on."""

    def _rows(self, work):
        rows, parents = super()._rows(work), work.proposal.parents.tolist()
        for node, parent in enumerate(parents):
            rows[1 + node] *= HAIR if parents[:node].count(parent) >= 4 else 1
        return rows


class WrongWhereParentsFall(TabularEngine):
    """Takes nodes for sorted by level."""

    def _rows(self, work):
        return super()._rows(work) * (HAIR if (np.diff(work.proposal.parents) < 0).any() else 1)


class WrongForEqualSiblings(TabularEngine):
    """From the second of them on."""

    def _rows(self, work):
        rows, tree = super()._rows(work), work.proposal
        nodes = list(zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True))
        for place, node in enumerate(nodes):
            rows[1 + place] *= HAIR if node in nodes[:place] else 1
        return rows


class Family(TabularSequence):
    generation, astray, drafted = 0, False, None

    def commit(self, tokens):
        drafted = self.drafted
        if drafted is not None and len(drafted) and (drafted.parents == ROOT).sum() > 1 and len(tokens):
            self.astray = tokens[0] not in drafted.tokens[drafted.parents == ROOT]
        super().commit(tokens)


class OfFamilies(TabularEngine):
    """All rows of a text move where `wrong` says."""

    def open(self, tokens):
        return Family(super().open(tokens).tokens)

    def fork(self, sequence, n):
        found = [Family(each.tokens, each.cached) for each in super().fork(sequence, n)]
        for each in found:
            each.generation = sequence.generation + 1
        return found

    def _rows(self, work):
        work.sequence.drafted = work.proposal
        return super()._rows(work) * (HAIR if self.wrong(work.sequence) else 1)


class WrongInForksOfForks(OfFamilies):
    def wrong(self, sequence):
        return sequence.generation >= 2


class WrongInTheFourthGeneration(OfFamilies):
    def wrong(self, sequence):
        return sequence.generation >= 4


class WrongBehindATreeThatItLeft(OfFamilies):
    def wrong(self, sequence):
        return sequence.astray


class Shows(TabularEngine):
    """Hidden states are the rows of logits: right."""

    def forward(self, works, fills=()):
        found = super().forward(works, fills)
        return [Scores(each.logits, self.shown(np.maximum(each.logits, -99)[:, None])) for each in found]

    def shown(self, hidden):
        return hidden


class ShowsTheRowBefore(Shows):
    def shown(self, hidden):
        return np.concatenate([hidden[:1], hidden[:-1]])


class ShowsTheFirstRows(Shows):
    def shown(self, hidden):
        return hidden[:4]


class ShowsSiblingsTheirFirst(Shows):
    """The second of two siblings has the first one's."""

    def shown(self, hidden):
        return hidden[[0, 1, 1, *range(3, len(hidden))]] if len(hidden) > 7 else hidden


class ShowsPrompts(Shows):
    """With a text's first scores come the rows before: right."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.told = WeakSet()

    def forward(self, works, fills=()):
        found = super().forward(works, fills)
        return [replace(each, text=self.text(work.sequence)) for each, work in zip(found, works, strict=True)]

    def text(self, sequence):
        if sequence in self.told or len(sequence.tokens) < 2:
            return ()
        self.told.add(sequence)
        ends = range(1, len(sequence.tokens))
        rows = [super(ShowsPrompts, self).forward([Work(self.open(sequence.tokens[:end]))])[0].hidden for end in ends]
        return self.prompt(np.concatenate(rows))

    def prompt(self, rows):
        return TextRows(0, rows[:3]), TextRows(3, rows[3:])


class ShowsPromptsLate(ShowsPrompts):
    def prompt(self, rows):
        return (TextRows(0, np.concatenate([rows[1:], rows[-1:]])),)


class ShowsTheEndOfAPrompt(ShowsPrompts):
    def prompt(self, rows):
        return (TextRows(4, rows[4:]),)


class ShowsPromptsTwice(ShowsPrompts):
    def text(self, sequence):
        self.told.clear()
        return super().text(sequence)


CAUGHT = {
    WrongInWideTrees: ("wide trees", 0.0),
    WrongInForksOfForks: ("forks of forks", 0.0),
    WrongInTheFourthGeneration: ("forks of forks", 0.0),
    WrongBehindATreeThatItLeft: ("commits behind trees", 0.0),
    ShowsTheRowBefore: ("hidden states", 0.1),
    ShowsTheFirstRows: ("hidden states", 0.0),
    ShowsSiblingsTheirFirst: ("hidden states", 0.1),
    ShowsPromptsLate: ("hidden states of prompts", 0.1),
    ShowsTheEndOfAPrompt: ("hidden states of prompts", 0.1),
    ShowsPromptsTwice: ("hidden states of prompts", 0.1),
}


def failing(kind, tolerance, table=TABLE) -> set[str]:
    checks = engine_checks(lambda: kind(table, context_length=128), tolerance)
    return set(failures(checks, AssertionError))


@pytest.mark.parametrize("kind", CAUGHT, ids=lambda kind: kind.__name__)
def test_broken_engines(kind) -> None:
    name, tolerance = CAUGHT[kind]
    assert failing(kind, tolerance) in ({name}, {name, "any history"})


@pytest.mark.parametrize("kind", [WrongWhereParentsFall, WrongForEqualSiblings], ids=lambda kind: kind.__name__)
def test_wrong_for_trees_that_come_path_by_path(kind) -> None:
    """Over so many tokens no other tree has equal siblings."""
    assert failing(kind, 0.0, random_table(40, 1, 1)) == {"trees path by path"}


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
@pytest.mark.parametrize("kind", [Shows, ShowsPrompts])
def test_hidden_states_that_are_right(kind, tolerance) -> None:
    assert failing(kind, tolerance) == set()
