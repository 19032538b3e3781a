"""The n-gram drafter: its contract, its law by enumeration, what texts see of one another, and its settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from draft.ngram_lm_texts import law_by_definition
from known_laws import SCENARIOS
from truedraw.draft.knobs import Knobs
from truedraw.draft.ngram_lm import NgramLMDrafter
from truedraw.draft.ngram_lm_counts import count_ngrams
from truedraw.draft.ngram_lm_file import Origin, write_counts
from truedraw.errors import BadFile, BadParameter
from truedraw.protocol import Drafter, DraftState, LooksAhead, Purpose, Scores
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.testing import drafter_checks
from truedraw.testing.checks import require_exact

PROMPT = (0, 1, 0, 0, 1)
CORPUS = [[0, 1, 1, 0, 1, 0], [1, 1, 0], [0, 2, 1, 2, 2], [2, 0, 3]]
KINDS = {
    "plain": {},
    "bigrams": {"ngram_lm_order": 2},
    "single tokens": {"ngram_lm_order": 1},
    "siblings": {"knobs": Knobs(draft_siblings=2)},
    "greedy": {"knobs": Knobs(draft_sample_method="greedy")},
    "own law": {"knobs": Knobs(draft_temperature=1.6, draft_top_p=0.9)},
    "cut by entropy": {"knobs": Knobs(draft_entropy_k=0.8)},
    "stops where unsure": {"knobs": Knobs(draft_stop_below=0.6)},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Counts of CORPUS; a scenario of fewer tokens gets those of the texts that have no more."""
    folder = tmp_path_factory.mktemp("counts")

    def of(vocab: int):
        file = folder / f"{vocab}.tdn"
        if not file.exists():
            texts = [text for text in CORPUS if max(text) < vocab]
            write_counts(file, count_ngrams(texts, 5), Origin("toy", "none", vocab))
        return file

    return of


def make(vocab, path, kind, **more) -> NgramLMDrafter:
    return NgramLMDrafter(vocab, ngram_lm_path=path(vocab), **KINDS[kind], **more)


def law(vocab=4, **params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0,), vocab))


def one_proposal(drafter, text, budget=3, target=None, seed=1):
    (proposal,) = drafter.propose([drafter.open(text, target or law())], [budget], [PhiloxRandomness(seed)])
    return proposal


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vocab", [pytest.param(3, marks=pytest.mark.slow), 50])
def test_it_keeps_the_contract_of_a_drafter(kind, vocab, path) -> None:
    for check in drafter_checks(lambda: make(vocab, path, kind), vocab):
        check()


@pytest.mark.slow
def test_with_its_own_text_alone_it_keeps_the_contract() -> None:
    for check in drafter_checks(lambda: NgramLMDrafter(3)):
        check()


def test_coupled_it_keeps_the_contract(path) -> None:
    for check in drafter_checks(lambda: make(50, path, "plain", coupled=True), 50):
        check()


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_chains_keep_the_law(scenario, rule, path) -> None:
    vocab = len(scenario.target[()])
    short = replace(scenario, draft_tokens=min(scenario.draft_tokens, 2), max_tokens=min(scenario.max_tokens, 3))
    require_exact(short, PROMPT, find("verifiers", rule)(), make(vocab, path, "plain"))


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("kind", ["siblings", "own law", "cut by entropy", "stops where unsure", "greedy"])
def test_every_kind_keeps_the_law(kind, rule, path) -> None:
    for scenario in SCENARIOS[:6]:
        vocab = len(scenario.target[()])
        require_exact(replace(scenario, draft_tokens=2, max_tokens=3), PROMPT, find("verifiers", rule)(),
                      make(vocab, path, kind))  # fmt: skip


def test_parts_are_what_the_protocol_asks_for() -> None:
    drafter = NgramLMDrafter(4)
    state = drafter.open(PROMPT, law())
    assert isinstance(drafter, Drafter)
    for each in (state, state.ahead([1])):
        assert isinstance(each, DraftState)
        assert isinstance(each, LooksAhead)


def test_each_token_comes_with_the_law_it_was_drawn_from(path) -> None:
    proposal = one_proposal(make(4, path, "plain"), PROMPT, 4, law(temperature=0.7))
    text = list(PROMPT)
    for node, (token, law_there) in enumerate(zip(proposal.tokens.tolist(), proposal.laws, strict=True)):
        q = law_there.dense()
        # what was drafted itself is looked behind, not counted
        expected = law_by_definition(CORPUS, [PROMPT], text, 5, 4) ** (1 / 0.7)
        np.testing.assert_allclose(q, expected / expected.sum(), atol=1e-6)
        assert token == PhiloxRandomness(1).choose(q, Purpose.DRAFT, len(PROMPT), node)
        assert proposal.confidence[node] == pytest.approx(min(q @ q, 1 - 1e-6))
        text.append(token)


@pytest.mark.parametrize("params", [
    {"top_k": 2}, {"top_k": 50}, {"top_p": 0.6}, {"min_p": 0.3}, {"temperature": 0}, {"repetition_penalty": 1.5},
    {"presence_penalty": 1.0}, {"logit_bias": {0: -100.0}}, {"bad_words": [[1]]},
    {"no_repeat_ngram": 2}, {"top_n_sigma": 1.0}, {"typical_p": 0.5}, {"epsilon_cutoff": 0.1}, {"eta_cutoff": 0.1},
    {"mirostat": 2, "mirostat_tau": 2.0}, {"dynatemp_range": 0.4, "temperature": 0.8}, {"min_tokens": 3},
    {"xtc_probability": 1.0, "xtc_threshold": 0.1},
], ids=str)  # fmt: skip
def test_the_targets_law_is_applied_to_q(params, path) -> None:
    opening = Opening(tuple(PROMPT), 4, (2,), PhiloxRandomness(3))
    target = SamplingLaw(sampling_params(params), opening)
    proposal = one_proposal(make(4, path, "plain"), PROMPT, 3, target)
    assert len(proposal) == 3
    with np.errstate(divide="ignore"):
        logits = np.log(law_by_definition(CORPUS, [PROMPT], list(PROMPT), 5, 4)).astype(np.float32)
    logits -= logits.max()
    np.testing.assert_allclose(proposal.laws[0].dense(), target(logits), atol=1e-6)
    allowed = target.after(int(proposal.tokens[0]))(np.zeros(4, np.float32)) > 0
    if "bad_words" in params or "logit_bias" in params:
        assert not (proposal.laws[1].dense()[~allowed]).any()


def test_a_penalty_that_divides_finds_logits_as_large_as_the_targets() -> None:
    target, text = law(9, repetition_penalty=1.3), [0, 1, 2, 0, 3, 0]
    masses = []
    for level in (0.0, 20.0):
        drafter = NgramLMDrafter(9)
        state = drafter.open(text, target)
        state.commit([1], Scores(np.full((1, 9), level, np.float32)))
        for each in (state, state.ahead([0])):
            (proposal,) = drafter.propose([each], [1], [PhiloxRandomness(1)])
            masses.append(proposal.laws[0][0])  # the prompt's token, the one that law() counts as said
    assert masses[2] < masses[0]
    assert masses[3] < masses[1]


def test_the_law_of_drafts_goes_on_with_the_text() -> None:
    drafter = NgramLMDrafter(9)
    state = drafter.open([0, 1, 2, 3], law(9, no_repeat_ngram=1))
    state.commit([1])
    for each, left in ((state, {2, 3}), (state.ahead([2]), {3}), (state, {2, 3})):
        (proposal,) = drafter.propose([each], [1], [PhiloxRandomness(1)])
        assert {token for token in range(9) if proposal.laws[0][token] > 0} == left


def test_nothing_is_drafted_where_the_law_excludes_all_that_is_known() -> None:
    assert len(one_proposal(NgramLMDrafter(4), [0, 0], 3, law(allowed_token_ids=[3]))) == 0
    assert len(one_proposal(NgramLMDrafter(4), [0, 0], 3, law(bad_words=[[0]]))) == 0


def test_what_was_written_is_known_from_then_on_and_what_is_looked_behind_is_not() -> None:
    drafter = NgramLMDrafter(9, knobs=Knobs(draft_sample_method="greedy"))
    state = drafter.open([1, 2, 3], law(9))

    def drafted(of):
        return drafter.propose([of], [2], [PhiloxRandomness(1)])[0].tokens.tolist()

    assert drafted(state.ahead([7, 8, 7])) != [8, 7]
    state.commit([7, 8, 7])
    assert drafted(state) == [8, 7]
    assert drafted(state.ahead([1])) == [2, 3]
    ahead = state.ahead([1])
    ahead.commit([2])
    assert drafted(ahead) == [3, 7]
    assert drafted(state) == [8, 7]


def test_no_text_is_counted_where_none_is_to_be(path) -> None:
    drafter = make(4, path, "plain", ngram_lm_online="none")
    first = one_proposal(drafter, [3, 3, 3, 3, 0])
    again = one_proposal(drafter, [0])
    assert np.array_equal(first.laws[0].dense(), again.laws[0].dense())


@pytest.mark.parametrize(("scope", "expected"), [("text", [0, 0]), ("prompt", [1, 0]), ("all", [1, 1])])
def test_what_a_scope_shows(scope, expected) -> None:
    drafter = NgramLMDrafter(9, ngram_lm_online=scope)
    drafter.open([1, 2], law(9)).commit([7])
    found = [one_proposal(drafter, prompt, 1, law(9)).laws[0][7] for prompt in ([1, 2], [0, 1, 2])]
    assert [int(mass > 0.1) for mass in found] == expected


@pytest.mark.parametrize(("settings", "named"), [
    ({"ngram_lm_order": 0}, "ngram_lm_order"), ({"ngram_lm_order": 6}, "ngram_lm_order"),
    ({"ngram_lm_order": 2.0}, "ngram_lm_order"), ({"ngram_lm_online": "some"}, "ngram_lm_online"),
    ({"ngram_lm_online": True}, "ngram_lm_online"), ({"ngram_lm_online": "none"}, "ngram_lm_online"),
    ({"ngram_lm_path": "", "ngram_lm_online": "none"}, "ngram_lm_online"), ({"ngram_lm_path": 3}, "ngram_lm_path"),
    ({"knobs": Knobs(draft_sample_method="gumbel")}, "draft_sample_method"),
], ids=str)  # fmt: skip
def test_bad_settings_are_refused_by_name(settings, named) -> None:
    with pytest.raises(BadParameter, match=named) as raised:
        NgramLMDrafter(4, **settings)
    assert raised.value.parameter == named


def test_counts_of_other_tokens_are_refused(path) -> None:
    with pytest.raises(BadParameter, match=r"ngram_lm_path: .* counts tokens of toy"):
        NgramLMDrafter(3, ngram_lm_path=path(4))
    with pytest.raises(BadFile, match="missing"):
        NgramLMDrafter(3, ngram_lm_path="missing.tdn")
