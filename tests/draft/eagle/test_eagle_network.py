"""What an EAGLE draft draws from, against its formulas written plainly: every format, texts of any length, trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from draft.eagle.random_eagles import PlainEagle, Shape, shapes, write
from draft.eagle.showing import CLOSE, NODES, ROUGH, TREE, Rounds, Shown, law, text
from draft.given_trees import Given
from engine.decoder import softmax
from truedraw.draft.eagle import drafter as module
from truedraw.draft.eagle.attention import Memory, attend
from truedraw.draft.eagle.checkpoint import EagleFolder
from truedraw.draft.eagle.drafter import EagleDrafter
from truedraw.draft.eagle.network import CompiledNetwork
from truedraw.engine.constants.matrix import Matrix
from truedraw.protocol import NOTHING, Scores, TextRows

EVERY = shapes()


class Case(Rounds):
    """A draft over a target that shows what it is asked for."""

    def __init__(self, folder, shape: Shape, arithmetic: str = "reference", wrong=None) -> None:
        rng = np.random.default_rng(5)
        rows = [(rng.normal(size=(shape.vocab, shape.width)) / 4).astype(np.float32) for _ in range(2)]
        streams = tuple(range(shape.streams)) if shape.third else (shape.streams,)
        network = CompiledNetwork(EagleFolder(folder), (Matrix(rows[0]), Matrix(rows[1])), streams, 1, arithmetic)
        self.vocab, self.streams = shape.vocab, list(streams)
        self.shown = Shown(shape.streams, shape.target)
        self.plain = PlainEagle(folder, wrong or shape, *rows)
        self.drafter = EagleDrafter.over(network, Given(TREE), shape.vocab)


@pytest.fixture(scope="module", params=EVERY)
def case(request, tmp_path_factory) -> Case:
    shape = EVERY[request.param]
    return Case(write(tmp_path_factory.mktemp("eagles") / "eagle", shape, seed=3), shape)


def test_every_node_has_the_law_of_the_formulas(case) -> None:
    assert case.worst() < CLOSE


def test_rounded_matrices_are_near(tmp_path) -> None:
    for number, shape in enumerate(EVERY.values()):
        small = replace(shape, biases=False)
        case = Case(write(tmp_path / str(number), small, seed=3), small, "runtime")
        state = case.start(9)
        assert case.off(state, case.propose([state])[0]) < ROUGH


WRONG = {
    "the residual": ("speculators, eagle3", {"norm_before_residual": True}),
    "states that are fed back": ("EAGLE-3.1", {"norm_output": False}),
    "streams": ("EAGLE-3.1", {"fc_norm": False}),
    "places": ("speculators, eagle3 of qwen3", {"rope_scaling": None}),
    "heads": ("EAGLE", {"heads": 2, "kv_heads": 1, "head_dim": 16}),
}


@pytest.mark.parametrize("part", WRONG)
def test_another_network_would_be_noticed(tmp_path, part) -> None:
    name, changes = WRONG[part]
    shape = EVERY[name]
    case = Case(write(tmp_path / "eagle", shape, seed=3), shape, wrong=replace(shape, **changes))
    state = case.start(9)
    assert case.off(state, case.propose([state])[0]) > 10 * CLOSE


@pytest.fixture(scope="module")
def third(tmp_path_factory) -> Case:
    shape = EVERY["speculators, eagle3"]
    return Case(write(tmp_path_factory.mktemp("eagles") / "eagle", shape, seed=3), shape)


def test_what_was_drafted_leaves_no_trace(third) -> None:
    """Rows of the round before are thrown away: a text that went another way is as good as new."""
    one, other = third.start(6), third.start(6)
    (proposal,) = third.propose([one])
    for state in (one, other):
        third.commit(state, [11], proposal)
    found, expected = third.propose([one, other])
    assert found.tokens.tolist() == expected.tokens.tolist() or third.off(one, found) < CLOSE
    assert one.memory.count == other.memory.count == len(one.tokens) - 1


def test_rows_that_were_never_shown_are_left_out(third) -> None:
    """The beginning of a text was found in the cache: the others keep their places."""
    state = third.start(12, first=8)
    (proposal,) = third.propose([state])
    assert third.off(state, proposal, first=8) < CLOSE
    assert third.off(state, proposal) > 10 * CLOSE


def test_only_what_was_written_since_is_known(third) -> None:
    state = third.start(12, first=None)
    (proposal,) = third.propose([state])
    assert third.off(state, proposal, first=11) < CLOSE


def test_a_round_without_hidden_states_is_a_gap(third) -> None:
    state = third.start(4)
    state.commit([5], Scores(np.zeros((1, 1), np.float32)))
    assert len(third.propose([state])[0]) == 0
    state.commit([6], None)
    third.commit(state, [7], NOTHING)
    (proposal,) = third.propose([state])
    assert len(proposal) == NODES
    assert state.memory.count == len(state.tokens) - 1 - 2


def test_a_token_that_nobody_scored_ends_what_is_known(third) -> None:
    state = third.start(4)
    (proposal,) = third.propose([state])
    strange = next(token for token in range(60) if token not in proposal.tokens)
    third.commit(state, [strange, 4], proposal)
    assert not state.is_ready
    third.commit(state, [5], NOTHING)
    assert state.is_ready


def test_hidden_states_that_come_late(third) -> None:
    """The first token was drawn from a row that another sample had computed: its row comes with the text."""
    tokens = text(6, 60)
    state = third.drafter.open(tokens, law(60, temperature=0.8))
    state.commit([9], Scores(np.zeros((1, 1), np.float32)))
    third.commit(state, [2], NOTHING, first=0)
    (proposal,) = third.propose([state])
    assert third.off(state, proposal) < CLOSE


def test_a_long_text_is_read_in_parts(third, monkeypatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 7)
    state = third.start(130)
    (proposal,) = third.propose([state])
    assert third.off(state, proposal) < CLOSE


def test_the_samples_of_a_prompt_read_it_once(third, monkeypatch) -> None:
    tokens, rows = text(30, 60), []
    shared = TextRows(0, third.shown.rows(tokens)[:-1])
    start = type(third.drafter._network).start
    monkeypatch.setattr(
        type(third.drafter._network), "start", lambda self, hidden: (rows.append(len(hidden)), start(self, hidden))[1]
    )
    states = [third.drafter.open(tokens, law(60, temperature=0.8)) for _ in range(3)]
    for number, state in enumerate(states):
        scores = third.shown.scores(tokens, NOTHING)
        state.commit([number], replace(scores, text=(shared,)))
    proposals = third.propose(states)
    assert rows == [29, 3]
    assert max(map(third.off, states, proposals)) < CLOSE
    assert len(third.drafter._prompts) == 1
    del shared, scores, state, states
    assert not len(third.drafter._prompts)


def test_a_prompt_shared_by_texts_that_differ_behind_it(third) -> None:
    """The last of its rows reads the token behind, which may be another one in each."""
    tokens = text(10, 60)
    shared, states = TextRows(0, third.shown.rows(tokens)), []
    for last in (3, 4):
        states.append(third.drafter.open([*tokens, last], law(60, temperature=0.8)))
        states[-1].commit([1], replace(third.shown.scores([*tokens, last], NOTHING), text=(shared,)))
    proposals = third.propose(states)
    assert max(map(third.off, states, proposals)) < CLOSE


def test_attention_over_nothing_but_its_own() -> None:
    rng = np.random.default_rng(0)
    own = Memory(1, 4, room=1)
    own.append(*(rng.normal(size=(3, 1, 4)).astype(np.float32) for _ in range(2)))
    queries = rng.normal(size=(2, 2, 4)).astype(np.float32)
    found = attend(queries, Memory(1, 4), own, np.array([[0, 2], [0, 1]]))
    for row, path in enumerate(([0, 2], [0, 1])):
        for head in range(2):
            weights = softmax(own.keys[0, path] @ queries[row, head] / 2)
            np.testing.assert_allclose(found[row, head * 4 : head * 4 + 4], weights @ own.values[0, path], atol=1e-6)
