"""Suffix decoding with an index beside the running texts: exact, seeded, and the nearest source first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from suffix_drafts import PROMPT, drafts, with_text

from enumeration import law_of, total_variation
from index_files import EMPTY, index_of
from truedraw.draft.none import NoDrafter
from truedraw.draft.suffix import SuffixDrafter
from truedraw.errors import BadFile, BadParameter
from truedraw.protocol import DraftState, LooksAhead, Proposal
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import Scenario, drafter_checks, random_table, run, text_law
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.token import TokenVerifier

KINDS = {
    "chain": {},
    "tree": {"suffix_decoding_tree": True, "suffix_decoding_max_spec_factor": 4.0},
    "index alone": {"suffix_decoding_scope": "text", "suffix_decoding_min_token_prob": 0.0},
}
CHECKS = [check.name for check in drafter_checks(SuffixDrafter)]


@pytest.fixture
def path(tmp_path):
    """Texts of three tokens in two segments."""
    rng = np.random.default_rng(12)
    index_of(tmp_path / "x.tdx", [rng.integers(0, 3, 60).tolist() for _ in range(8)], [[1, 0, 2, 2, 0]])
    return tmp_path / "x.tdx"


def drafter_of(path, *texts, **settings):
    index_of(path, list(texts))
    return SuffixDrafter(suffix_decoding_index=path, **settings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CHECKS)
def test_every_kind_keeps_the_contract(path, kind, name) -> None:
    checks = drafter_checks(lambda: SuffixDrafter(suffix_decoding_index=path, **KINDS[kind]))
    next(check for check in checks if check.name == name)()


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_texts_whatever_is_known(path, kind) -> None:
    scenario = Scenario("seeded", random_table(3, 2, 81), {}, {"temperature": 0.6}, draft_tokens=5, max_tokens=60)
    plain = run(replace(scenario, draft_tokens=0), Seeds(), CoupledVerifier(), NoDrafter(), n=5)
    drafter = SuffixDrafter(suffix_decoding_index=path, **KINDS[kind])
    for _ in range(2):
        assert run(scenario, Seeds(), CoupledVerifier(), drafter, n=5) == plain


class Seeds:
    def sample(self, index):
        return PhiloxRandomness(23, index)


class DrawnFromShares(SuffixDrafter):
    """The mutant: the likeliest token, handed over as if it had been drawn from the shares."""

    def propose(self, states, budgets, randomness):
        return [
            Proposal(each.tokens[:1], each.parents[:1], tuple(share_law(each)), None)
            for each in super().propose(states, budgets, randomness)
        ]


def share_law(proposal):
    law = np.full(3, (1 - proposal.confidence[0]) / 2) if len(proposal) else None
    if law is not None:
        law[proposal.tokens[0]] = proposal.confidence[0]
        yield law


def first_text(scenario, walker, drafter):
    return run(scenario, walker, TokenVerifier(), drafter, prompt=(0,))[0]


def test_shares_are_no_law_that_a_token_was_drawn_from(path) -> None:
    scenario = Scenario("three tokens", random_table(3, 1, 91), {}, draft_tokens=1, max_tokens=3)
    laws = [
        law_of(lambda walker, kind=kind: first_text(scenario, walker, kind(suffix_decoding_index=path)))
        for kind in (SuffixDrafter, DrawnFromShares)
    ]
    apart = [total_variation(law, text_law(scenario, (0,))) for law in laws]
    assert apart[0] < 1e-12
    assert apart[1] > 0.02


def test_old_texts_are_drafted_where_the_running_ones_know_less(tmp_path) -> None:
    drafter = drafter_of(tmp_path / "x.tdx", [6, 2, 3, 7, 8], [3, 9, 9], suffix_decoding_max_spec_factor=1)
    assert drafts(drafter, drafter.open(PROMPT, None)) == [7, 8]
    state = with_text(drafter, [7])
    assert drafts(drafter, state) == [8]
    assert drafts(drafter, state.ahead([8, 3]), 1) in ([7], [9])


def test_the_nearest_source_wins_where_suffixes_are_equally_long(tmp_path) -> None:
    drafter = drafter_of(tmp_path / "x.tdx", *[[3, 7]] * 5)
    state = with_text(drafter, [8, 5, 3])
    assert drafts(drafter, state, 1) == [8]
    index_of(tmp_path / "y.tdx", [[5, 3, 7]])
    longer = SuffixDrafter(suffix_decoding_index=str(tmp_path / "y.tdx"))
    assert drafts(longer, with_text(longer, [8, 5, 3]), 1) == [7]


@pytest.mark.parametrize("scope", ["text", "prompt", "all"])
def test_texts_do_not_enter_the_index(tmp_path, scope) -> None:
    drafter = drafter_of(tmp_path / "x.tdx", [9, 4], suffix_decoding_scope=scope)
    state, before = drafter.open(PROMPT, None), (tmp_path / "x.tdx").read_bytes()
    for part in (state, state.ahead([1])):
        assert isinstance(part, DraftState)
        assert isinstance(part, LooksAhead)
    state.commit([9])
    assert drafts(drafter, state, 2) == [4]
    assert (tmp_path / "x.tdx").read_bytes() == before


def test_a_file_that_grows_is_seen_by_the_next_drafter(tmp_path) -> None:
    path = tmp_path / "x.tdx"
    first = drafter_of(path, [3, 7])
    path.unlink()
    second = drafter_of(path, [3, 8])
    assert [drafts(each, each.open(PROMPT, None), 1) for each in (first, second)] == [[7], [8]]


class Target:
    """draft.site.Models, as far as it is asked."""

    class tokenizer:  # noqa: N801 - an attribute
        fingerprint = EMPTY.fingerprint


def test_the_index_must_be_of_the_models_tokenizer(tmp_path) -> None:
    index_of(tmp_path / "x.tdx", [[1, 2]])
    SuffixDrafter(suffix_decoding_index=tmp_path / "x.tdx", models=Target())
    other = type("Other", (), {"tokenizer": type("T", (), {"fingerprint": "another"})})
    with pytest.raises(BadFile, match="made with the tokenizer of a model"):
        SuffixDrafter(suffix_decoding_index=tmp_path / "x.tdx", models=other())


@pytest.mark.parametrize("value", ["", 7, True, ["x.tdx"]])
def test_a_bad_name_is_refused(value) -> None:
    with pytest.raises(BadParameter, match="suffix_decoding_index"):
        SuffixDrafter(suffix_decoding_index=value)


def test_confidence_is_the_share_less_some_doubt_while_little_agrees(tmp_path) -> None:
    texts = [1, 2, 3, 7, 8], [3, 7, 9], [3, 7, 8], [3, 5]
    drafter = drafter_of(tmp_path / "x.tdx", *texts, suffix_decoding_tree=True)
    (proposal,) = drafter.propose([drafter.open([3], None)], [2], [None])
    assert proposal.tokens.tolist() == [7, 8]
    assert proposal.confidence == pytest.approx([3 / 4 * 1 / 3, 2 / 3 * 2 / 4])
    (proposal,) = drafter.propose([drafter.open(PROMPT, None)], [2], [None])
    assert proposal.confidence == pytest.approx([3 / 5, 4 / 6])
    assert ((proposal.confidence > 0) & (proposal.confidence < 1)).all()
