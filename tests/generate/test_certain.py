"""Certain tokens in front of a proposal."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from generate.paged_table import toy
from known_laws import TableDrafter, random_table
from truedraw.draft.behind import look_ahead
from truedraw.draft.joining import join
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.none import NoDrafter
from truedraw.errors import OutOfPages
from truedraw.generate.certain import MOST, forced_tokens
from truedraw.generate.judging import Judged, Spent, round_of
from truedraw.protocol import NOTHING, ROOT, Proposal, Verdict
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.testing.enumeration import Walker

LAW = SamplingLaw(SamplingParams())


def test_a_tree_hangs_at_the_end_of_the_chain() -> None:
    law = np.full(3, 1 / 3)
    tree = Proposal(np.array([2, 1, 0]), np.array([ROOT, ROOT, 1]), (law, None, law))
    joined = join((7, 8), tree)
    assert joined.tokens.tolist() == [7, 8, 2, 1, 0]
    assert joined.parents.tolist() == [ROOT, 0, 1, 1, 3]
    assert [given is None for given in joined.laws] == [True, True, False, True, False]
    assert join((), tree) is tree
    assert join((4,), NOTHING).parents.tolist() == [ROOT]


def test_a_state_stays_as_it_is_when_it_looks_ahead() -> None:
    drafter = NgramDrafter(1, 2)
    state = drafter.open([1, 2, 3, 1], LAW)
    assert look_ahead(state, ()) is state
    proposals = drafter.propose([look_ahead(state, (2,)), state], [2, 2], [Walker().sample(i) for i in range(2)])
    assert [proposal.tokens.tolist() for proposal in proposals] == [[3, 1], [2, 3]]


def test_a_state_that_cannot_look_ahead_drafts_nothing_behind() -> None:
    state = NoDrafter().open([1], LAW)
    assert look_ahead(state, (1, 2)) is None


def test_a_table_goes_on_from_the_longer_text() -> None:
    drafter = TableDrafter(random_table(3, 1, 1))
    state = drafter.open([0], LAW)
    (proposal,) = drafter.propose([look_ahead(state, (2, 1))], [1], [Walker().sample(0)])
    assert np.array_equal(proposal.laws[0], drafter.law_after(state, [0, 2, 1]))
    assert state.text == [0]


class Forcing:
    def forced(self, limit):
        return [1] * limit


def test_forced_tokens_fit_the_text_and_share_the_pass() -> None:
    assert forced_tokens([Forcing()], [3]) == [(1, 1, 1)]
    assert [len(tokens) for tokens in forced_tokens([Forcing()] * 4, [99] * 4)] == [MOST // 4] * 4
    assert forced_tokens([Forcing()] * 200, [0, *[5] * 199]) == [(), *[(1,)] * 199]


def test_tokens_that_must_come_and_find_no_room_together_come_one_by_one() -> None:
    asked = {"regex": " cat dog sat ran", "seed": 1}
    assert toy(pages=2, rows=1).generate("the", stop=" dog", **asked).text == " cat"
    run = toy(pages=2, rows=1).start("the", **asked)
    with pytest.raises(OutOfPages):
        list(run)
    assert run.result().text == " cat dog"


@pytest.mark.parametrize(
    ("drafts", "verdict", "kept", "told"),
    [
        ([], Verdict((4, 5, 6), 2, False), 3, (0, 0, 2, "", ("forced", "forced", "plain"))),
        ([], Verdict((4, 5, 6), 2, False), 1, (0, 0, 1, "", ("forced",))),
        ([7], Verdict((4, 5, 7, 8), 3, False), 4, (1, 1, 2, "ngram", ("forced", "forced", "draft", "bonus"))),
        ([7], Verdict((4, 5, 8), 2, True), 3, (1, 0, 2, "ngram", ("forced", "forced", "residual"))),
    ],
)
def test_what_had_to_come_is_nobodys_draft(drafts, verdict, kept, told) -> None:
    found = Judged(verdict, verdict.tokens[:kept], None, (0.0,) * kept, (0.0,) * kept)
    proposal, spent = join((4, 5), Proposal.chain(drafts)), Spent(0.0, None, 0.0, 0.0, 1)
    done = round_of(SimpleNamespace(number=3), proposal, found, spent, source="ngram", forced=2)
    assert (done.drafted, done.accepted, done.forced, done.source, done.origins) == told
