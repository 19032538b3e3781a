"""Token-level intersection: exact by enumeration, shared tokens found, the text read as the draft model spells it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from draft.other_tokens import ABC, OTHER, Site, letters
from enumeration import law_of, total_variation
from generate.coupled_noise import CoupledWalker
from known_laws import Scenario, lookup, normalised, random_table, text_law
from models.tiny_models import byte_tokenizer
from text.sentence_piece import tokenizer_of
from truedraw.draft.knobs import Knobs
from truedraw.draft.tli import SharedTokens, TliDrafter
from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import Purpose
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import drafter_checks
from truedraw.testing.checks import require_exact
from truedraw.testing.runs import run
from truedraw.text import Tokenizer

ROUNDING = 1e-12
PROMPT = (0, 1, 0)
LAW = SamplingLaw(SamplingParams())
FOUR = random_table(4, 1, 400)
CASES = [
    Scenario("plain", random_table(3, 1, 401), {}, draft_tokens=3, max_tokens=3),
    Scenario("cold", random_table(3, 1, 402), {}, {"temperature": 0.6}, draft_tokens=2, max_tokens=3),
    Scenario("top_k", random_table(3, 1, 403), {}, {"top_k": 2}, draft_tokens=2, max_tokens=3),
    Scenario("zeros", random_table(3, 1, 404, zeros=0.5), {}, draft_tokens=2, max_tokens=3),
    Scenario("only what is not shared", random_table(3, 1, 405), {}, {"allowed_token_ids": [2]}, 2, 3),
]


def drafter(table=FOUR, target=ABC, draft=OTHER, coupled=False, **knobs) -> TliDrafter:
    return TliDrafter(Site(target, draft, table), "small", Knobs(**knobs), coupled)


def test_a_row_without_a_shared_token_that_is_possible_is_told_as_such() -> None:
    shared = SharedTokens(ABC, OTHER, 3, 4)
    alone = [i for i in range(4) if shared.row(np.where(np.arange(4) == i, 1.0, -1.0)).max() < 1.0]
    assert alone
    with pytest.raises(EngineError, match="probability 0 to all tokens that it shares with the target"):
        shared.row(np.where(np.isin(np.arange(4), alone), 1.0, -np.inf))


def allowed(case: Scenario) -> Scenario:
    """The same, with the restriction written into the table."""
    if "allowed_token_ids" not in case.params:
        return case
    kept = case.params["allowed_token_ids"]
    table = {c: normalised([w * (i in kept) for i, w in enumerate(row)]) for c, row in case.target.items()}
    return replace(case, target=table, params={})


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_another_vocabulary_keeps_the_law(case: Scenario, rule: str) -> None:
    made = drafter()
    found = law_of(lambda walker: run(case, walker, find("verifiers", rule)(), made, prompt=PROMPT)[0])
    assert total_variation(found, text_law(allowed(case), PROMPT)) < ROUNDING


@pytest.mark.parametrize("knobs", [{"draft_temperature": 0.5}, {"draft_siblings": 2}, {"draft_top_k": 1},
                                   {"draft_sample_method": "greedy"}, {"draft_stop_below": 0.6}], ids=str)  # fmt: skip
def test_every_law_of_its_own_keeps_the_law(knobs) -> None:
    for rule in ("traversal", "recursive"):
        require_exact(CASES[0], PROMPT, find("verifiers", rule)(), drafter(**knobs))


@pytest.mark.parametrize("rule", ["coupled", "token", "traversal"])
def test_with_the_targets_noise_too(rule: str) -> None:
    case = Scenario("quarters", {(): [0.25, 0.25, 0.5], (1,): [0.5, 0.25, 0.25]}, {}, draft_tokens=2, max_tokens=3)
    made = drafter({(): [0.5, 0.0, 0.25, 0.25], (2,): [0.0, 0.0, 0.25, 0.75]}, coupled=True)
    found = law_of(lambda walker: run(case, walker, find("verifiers", rule)(), made, prompt=PROMPT)[0], CoupledWalker)
    assert total_variation(found, text_law(case, PROMPT)) < ROUNDING


class Unrestricted(SharedTokens):
    """The bug: what the draft model gives to tokens of its own is not taken out of q."""

    def row(self, logits):
        q = np.zeros(3)
        q[self._to] = np.exp(logits)[self._from]
        q[2] = 1.0 - q.sum()  # q over the shared tokens as the draft model has it, the rest anywhere
        return np.log(q)


class ForgetsTheRest(TliDrafter):
    """The bug: the law handed over is the draft model's own, while the token was drawn again until it was shared."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        unshared = Unrestricted(ABC, OTHER, 3, 4)
        for state, proposal in zip(states, found, strict=True):
            for node, law in enumerate(proposal.laws):
                text = [*state.text._ids, *unshared.ids(proposal.tokens[:node].tolist())]
                law[:] = np.exp(unshared.row(np.log(np.array(lookup(FOUR, text)))))
        return found


def test_the_oracle_sees_a_law_that_was_not_restricted() -> None:
    made = ForgetsTheRest(Site(ABC, OTHER, FOUR), "small")
    found = law_of(lambda walker: run(CASES[0], walker, find("verifiers", "token")(), made, prompt=PROMPT)[0])
    assert total_variation(found, text_law(CASES[0], PROMPT)) > 1e-3


def test_q_is_the_draft_models_law_over_what_both_have() -> None:
    [proposal] = (made := drafter()).propose([made.open([0, 1], LAW)], [1], [PhiloxRandomness(3)])
    row = lookup(FOUR, [0])  # the draft model spells the prompt with its own token "ab"
    assert proposal.laws[0] == pytest.approx(normalised([row[3], row[2], 0.0]), abs=ROUNDING)


def test_it_draws_with_the_targets_noise_over_the_targets_tokens() -> None:
    made, chance = drafter(coupled=True), PhiloxRandomness(9)
    [proposal] = made.propose([made.open([0, 1], LAW)], [1], [chance])
    row = lookup(FOUR, [0])
    q = np.array(normalised([row[3], row[2], 0.0]))
    assert proposal.tokens.tolist() == [chance.choose(q, Purpose.TARGET, 2)]
    assert proposal.laws == (None,)


@pytest.mark.parametrize("coupled", [pytest.param(False, marks=pytest.mark.slow), True])
def test_it_keeps_the_contract_of_a_drafter(coupled: bool) -> None:
    for check in drafter_checks(lambda: drafter(coupled=coupled), 3):
        if not (coupled and check.name.startswith("exact")):  # that oracle knows no noise
            check()


def test_no_shared_token_is_one_clear_error() -> None:
    with pytest.raises(BadParameter, match=r'of small has no token of the target.*"string-match"'):
        drafter(draft=letters(["x", "y", "z", "w"]))


def shared(target, draft) -> SharedTokens:
    return SharedTokens(target, draft, target.vocab_size, draft.vocab_size)


def test_a_token_that_is_lacking_is_spelled_out() -> None:
    target = letters(["a", "b", "ab", " ab", " "], ["a+b", " +ab"])
    pair = shared(target, letters(["b", "a", " "]))
    assert pair.ids([2, 0, 3]) == [1, 0, 1, 2, 1, 0]
    assert pair.opening([2, 3]) == [1, 0, 2, 1, 0]
    assert pair.num_shared == 3


def test_control_tokens_are_not_their_letters() -> None:
    target = letters(["<", "e", ">", "<e>"], control=["<end>", "<x>"], eos_ids=(4,))
    draft = letters(["<e>", "<", "e", ">"], control=["<x>", "</s>"], eos_ids=(5,))
    pair = shared(target, draft)
    assert pair.ids([3, 5, 4]) == [0, 4, 5]
    row = pair.row(np.arange(6, dtype=np.float32))
    assert row.tolist() == [1.0, 2.0, 3.0, 0.0, 5.0, 4.0]
    plain = letters(["<", "x", ">"], control=["<end>"])
    assert shared(target, plain).ids([5, 4]) == [3]  # <x> is no text, and plain has no control token like it


@pytest.fixture(scope="module")
def byte_level() -> Tokenizer:
    return Tokenizer(byte_tokenizer(), eos_ids=(2,), bos_id=1)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    return tokenizer_of(tmp_path_factory.mktemp("pieces") / "m.gguf")


def test_space_marks_bytes_and_half_characters(pieces, byte_level) -> None:
    """GPT-2's bytes against SentencePiece: hello is one piece there, and what it has no piece for is bytes."""
    pair = shared(byte_level, pieces)
    text = "hello wor\n𝄞 hé"
    tokens = byte_level.encode(text)
    read = pieces.decode(pair.opening(tokens))
    assert read == text
    assert pieces.bos_id == pair.opening(tokens)[0]
    assert pieces.token_id("▁hello") in pair.opening(tokens)
    later = [i for token in tokens for i in pair.ids([token])]
    assert b"".join(map(pieces.token_bytes, later)) == text.encode()
    half = [i for i in range(byte_level.vocab_size) if byte_level.token_bytes(i) == b"\xf0"]
    assert pair.ids(half) == [pieces.token_id("<0xF0>")]


def test_and_the_other_way(pieces, byte_level) -> None:
    pair = shared(pieces, byte_level)
    text = "hello wor\n𝄞 hé"
    assert byte_level.decode(pair.opening(pieces.encode(text))) == text
    later = [i for token in pieces.encode(text)[1:] for i in pair.ids([token])]
    assert byte_level.decode(later) == " " + text
    letter = pieces.token_id("h")
    row = pair.row(np.zeros(byte_level.vocab_size, np.float32))
    assert row[letter] == 0.0
    assert row[pieces.token_id("<0x68>")] == -np.inf  # the byte piece is never written where there is a word
    assert pair.ids([letter]) == pair.ids([pieces.token_id("<0x68>")])


def test_an_empty_reading_still_opens_a_text() -> None:
    assert list(shared(ABC, letters(["a"])).opening([2, 2])) == [0]


def test_rows_beyond_a_models_own_are_left_out() -> None:
    pair = SharedTokens(ABC, OTHER, 2, 3)  # the target has no row for c, the draft model none for its a
    assert pair.ids([0]) == []
    assert pair.row(np.zeros(3, np.float32)).tolist() == [-np.inf, 0.0]
