"""A head that looks back: its kernels against the formulas in plain numpy, and which rows it is told of."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest

from draft.given_trees import Given
from draft.head.random_heads import LAYERS, VOCAB, WIDTH, PlainCell, as_read, card, normed, numbers, write
from draft.head.seeing import KNOWN, PROMPT, SAYS, TableCell, case, features, law_of_text, text_of
from known_laws import text_law
from truedraw.draft.head.cell import Chosen, Past, memory_of
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.drafter import LISTENING, HeadDrafter
from truedraw.draft.head.file import HeadFile, write_head
from truedraw.draft.head.kinds.attentive import AttentiveCell
from truedraw.draft.head.kinds.attentive_memory import FEWEST, MOST_AT_ONCE, PLACES
from truedraw.draft.head.kinds.attentive_step import REACH
from truedraw.draft.head.known_rows import MOST, KnownRows
from truedraw.draft.head.refit.cell import CorrectedCell
from truedraw.draft.siblings import Settled
from truedraw.draft.site import close
from truedraw.draft.trees import Trees
from truedraw.engine.constants.matrix import Matrix
from truedraw.errors import BadFile
from truedraw.protocol import Proposal, Scores
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.testing import drafter_checks
from truedraw.threads.crew import crew_of

HEADS, SIZE = 8, 64
STREAMS = len(LAYERS) + 1
OFF = 0.05  # of the spread: rows are rounded to 8 bits, what is remembered to bfloat16
TABLE = np.random.default_rng(7).normal(size=(VOCAB, WIDTH)).astype(np.float32)


class PlainAttentive(PlainCell):
    """kinds/attentive.py's formulas, of one text whose rows are all known."""

    def __init__(self, file: HeadFile) -> None:
        super().__init__(file, TABLE.astype(np.float64))
        self.asking = as_read(file.matrix("asking", (3 * HEADS * SIZE, WIDTH)))
        self.found = as_read(file.matrix("found", (WIDTH, HEADS * SIZE)))
        self.slope, self.sink = np.logaddexp(0, file.vector("slope", HEADS)), file.vector("sink", HEADS)

    def hear(self, given, tokens) -> None:
        """All rows [n, streams, width] of the text, with the tokens behind them."""
        self.states, _ = self.begin(given.reshape(len(given), STREAMS, WIDTH), tokens)
        self.past = (normed(self.states) @ self.asking.T).reshape(-1, 3, HEADS, SIZE)

    def behind(self, row, rows, state=None):
        """State and logits where row number `row` looks back at some rows before it."""
        x = self.states[row] if state is None else state
        query = (normed(x) @ self.asking[: HEADS * SIZE].T).reshape(HEADS, SIZE)
        found = np.concatenate([self.head(query[head], head, row, rows) for head in range(HEADS)])
        after = x + self.found @ found
        return after, self.written @ (self.output @ (self.gain * normed(after)))

    def head(self, query, head, row, rows):
        usual = [j for j in rows if j < row]
        scores = [self.past[j, 1, head] @ query / 8 - self.slope[head] * (row - j) for j in usual]
        weights = np.exp([*scores, self.sink[head]])
        values = [self.past[j if head < HEADS // 2 else j + 1, 2, head] for j in usual]
        return sum((w * v for w, v in zip(weights, values, strict=False)), np.zeros(SIZE)) / weights.sum()


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> HeadFile:
    return HeadFile(write(tmp_path_factory.mktemp("heads") / "head.safetensors", card(kind="attentive"), seed=5))


@pytest.fixture(scope="module")
def cell(file) -> AttentiveCell:
    return AttentiveCell(file, TargetRows(Matrix(TABLE), Matrix(TABLE)), threads=1)


def written(rows: int, seed: int):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, STREAMS, WIDTH)).astype(np.float32) * 3, rng.integers(0, VOCAB, rows)


def near(found, expected, beside) -> None:
    """By far nearer than `beside`, the same without a look back; where there is none, they are one."""
    assert np.abs(found - expected).max() < OFF * 3 * np.abs(expected).std()
    looked = np.linalg.norm(beside - expected)
    assert looked == 0 or np.linalg.norm(found - expected) < 0.35 * looked


def told(cell, memory, text, first, end):
    given, tokens = text
    return cell.begin(given[first:end], tokens[first:end], Past(memory, first, end - first))


def check(cell, plain, text, memory, ends, start=0) -> None:
    """Rounds that end behind these rows; each is asked twice, and for two branches."""
    for end in ends:
        for first in (start, end - 1):
            states, logits = (each.copy() for each in told(cell, memory, text, first, end))
            rows = range(max(0, end - REACH), end)
            state, expected = plain.behind(end - 1, rows)
            near(logits[0], expected, plain.behind(end - 1, ())[1])
        start = end
        branches = np.array([3, 11])
        _, further = cell.step(states[[0, 0]], branches)
        for own, token in zip(further, branches, strict=True):
            moved, _ = plain.step(state[None], np.array([token]))
            near(own, plain.behind(end - 1, rows, moved[0])[1], plain.behind(end - 1, (), moved[0])[1])


def test_it_is_the_network_of_the_formulas_however_the_rows_come(cell, file) -> None:
    plain, text = PlainAttentive(file), written(60, 1)
    plain.hear(*text)
    check(cell, plain, text, cell.memory(), [1, 2, 5, 6, 38, 40, 41, 60])


def test_the_last_rows_alone_are_kept(cell, file) -> None:
    plain, text = PlainAttentive(file), written(2 * PLACES, 2)
    plain.hear(*text)
    check(cell, plain, text, cell.memory(), range(30, 2 * PLACES, 30))


def test_rows_of_several_texts_come_in_one_call(cell, file) -> None:
    texts, memories = [written(20, seed) for seed in (3, 4, 5)], [cell.memory() for _ in range(3)]
    plains = [PlainAttentive(file) for _ in texts]
    for plain, text in zip(plains, texts, strict=True):
        plain.hear(*text)
    starts = [0, 0, 0]
    for ends in ([1, 3, 2], [2, 4, 7], [9, 5, 8], [10, 20, 11]):
        parts = list(zip(texts, starts, ends, strict=True))
        given = np.concatenate([text[0][a:b] for text, a, b in parts])
        tokens = np.concatenate([text[1][a:b] for text, a, b in parts])
        pasts = [Past(memory, a, b - a) for memory, (_, a, b) in zip(memories, parts, strict=True)]
        states, logits = (each.copy() for each in cell.begin(given, tokens, *pasts))
        _, further = cell.step(states[[2, 0]], np.array([7, 8]))
        for plain, own, end in zip(plains, logits, ends, strict=True):
            near(own, plain.behind(end - 1, range(end))[1], plain.behind(end - 1, ())[1])
        for own, number, token in zip(further, (2, 0), (7, 8), strict=True):
            end, plain = ends[number], plains[number]
            moved, _ = plain.step(plain.behind(end - 1, range(end))[0][None], np.array([token]))
            near(own, plain.behind(end - 1, range(end), moved[0])[1], plain.behind(end - 1, (), moved[0])[1])
        starts = ends


def test_rows_that_nobody_told_are_missing_with_the_one_before_them(cell, file) -> None:
    """Half of the heads want to know what came behind it."""
    plain, text, memory = PlainAttentive(file), written(40, 6), cell.memory()
    plain.hear(*text)
    told(cell, memory, text, 0, 10)
    for first, end in ((20, 21), (20, 21), (21, 23)):
        logits = told(cell, memory, text, first, end)[1][0].copy()
        known = [*range(9), *range(20, end)]
        near(logits, plain.behind(end - 1, known)[1], plain.behind(end - 1, ())[1])
        assert np.abs(logits - plain.behind(end - 1, range(end))[1]).max() > np.abs(logits).std() / 5


def test_without_a_past_nothing_is_looked_back_at(cell, file) -> None:
    plain, text = PlainAttentive(file), written(5, 7)
    plain.hear(*text)
    logits = cell.begin(*text)[1]
    for row in range(5):
        assert np.abs(logits[row] - plain.behind(row, ())[1]).max() < OFF * 3 * logits.std()


@pytest.mark.parametrize("rows", [1, 3, 9])
def test_threads_that_share_a_step_find_the_same_bits(file, rows: int) -> None:
    """Each norms all rows for itself; a hundred times, as a thread may come late."""
    held = TargetRows(Matrix(TABLE), Matrix(TABLE))
    alone, together = (AttentiveCell(file, held._replace(crew=crew_of(threads))) for threads in (1, 2))
    text = written(rows, 5)
    expected = [*(begun := alone.begin(*text)), *alone.step(begun[0], text[1])]
    for _ in range(100):
        begun = together.begin(*text)
        for found, usual in zip([*begun, *together.step(begun[0], text[1])], expected, strict=True):
            np.testing.assert_array_equal(found, usual)


def test_a_memory_is_anothers_when_its_text_is_gone(file) -> None:
    cell = AttentiveCell(file, TargetRows(Matrix(TABLE), Matrix(TABLE)), threads=1)
    text, plain = written(12, 8), PlainAttentive(file)
    plain.hear(*text)
    memories = [cell.memory() for _ in range(3 * FEWEST)]  # more than there was room for
    assert len({each.slot for each in memories}) == len(memories)
    for each in memories:
        told(cell, each, written(12, 9), 0, 12)
    slots = {each.slot for each in memories}
    del each, memories
    gc.collect()
    again = [cell.memory() for _ in range(2 * FEWEST)]
    assert {each.slot for each in again} <= slots
    check(cell, plain, text, again[0], [3, 12])


def test_what_is_remembered_stays_where_room_is_made_for_more(file) -> None:
    cell = AttentiveCell(file, TargetRows(Matrix(TABLE), Matrix(TABLE)), threads=1)
    text, plain, memory = written(12, 11), PlainAttentive(file), cell.memory()
    plain.hear(*text)
    told(cell, memory, text, 0, 9)
    others = [cell.memory() for _ in range(3 * FEWEST)]
    for each in others:
        told(cell, each, written(12, 9), 0, 12)
    check(cell, plain, text, memory, [10, 12], start=9)


def test_a_slot_is_taken_late_and_given_back_at_once(file) -> None:
    cell = AttentiveCell(file, TargetRows(Matrix(TABLE), Matrix(TABLE)), threads=1)
    many = [cell.memory() for _ in range(5 * FEWEST)]
    assert len(cell._memories.arrays[0]) == FEWEST
    for each in many:
        told(cell, each, written(2, 9), 0, 2)
    assert len(cell._memories.arrays[0]) > 5 * FEWEST
    for each in [*many, many[0]]:  # once more changes nothing
        each.close()
    text, plain, memory = written(5, 12), PlainAttentive(file), cell.memory()
    plain.hear(*text)
    check(cell, plain, text, memory, [2, 5])
    assert len(cell._memories.arrays[0]) == FEWEST


def test_no_row_is_lost_when_they_move_to_the_front(cell) -> None:
    text, memory = written(PLACES + 40, 13), cell.memory()
    for first in range(0, PLACES + 40, 8):
        told(cell, memory, text, first, first + 8)
        last = memory._held - 1
        kept = cell._memories.arrays[2][memory.slot, max(0, last - REACH + 1) : last + 1].tolist()
        assert kept == list(range(max(0, first + 8 - REACH), first + 8))
    assert MOST <= MOST_AT_ONCE


def test_of_many_texts_a_few_miss_no_row(cell) -> None:
    target = SamplingLaw(sampling_params({}), Opening((0,), VOCAB))
    drafter = HeadDrafter.over(cell, Trees(Settled((0.5,)), 4), VOCAB)
    states = [drafter.open([1, 2], target) for _ in range(LISTENING + 2)]
    assert [state.dozes for state in states] == [False] * LISTENING + [True] * 2
    del states
    gc.collect()
    assert not drafter.open([1, 2], target).dozes
    plain = HeadDrafter.over(TableCell(), Trees(Settled((0.5,)), 4), 3)
    assert plain.open([1, 2], SamplingLaw(sampling_params({}), Opening((0,), 3))).dozes


def test_a_text_that_has_ended_keeps_nothing(cell) -> None:
    drafter = HeadDrafter.over(cell, Trees(Settled((0.5,)), 4), VOCAB)
    free = len(cell._memories._free)
    state = drafter.open([1, 2], SamplingLaw(sampling_params({}), Opening((0,), VOCAB)))
    assert len(cell._memories._free) == free
    state.commit([3], Scores(np.zeros((1, VOCAB)), written(1, 1)[0], Proposal.chain([])))
    drafter.propose([state], [2], [PhiloxRandomness(1)])
    assert len(cell._memories._free) == free - 1
    close(state)
    assert len(cell._memories._free) == free


def test_streams_are_chosen_and_corrections_made_with_a_memory_too(cell) -> None:
    text, memory = written(6, 10), cell.memory()
    expected = told(cell, memory, text, 0, 6)[1].copy()
    wider = np.concatenate([text[0][:, :1], np.full_like(text[0][:, :1], 9), text[0][:, 1:]], 1)
    chosen = Chosen(cell, np.array([0, 2, 3]))
    assert np.array_equal(told(chosen, memory_of(chosen), (wider, text[1]), 0, 6)[1], expected)
    same = type("Same", (), {"of": staticmethod(lambda z, logits: logits + z.shape[1])})()
    right = CorrectedCell(cell, lambda: same)
    assert np.array_equal(told(right, memory_of(right), text, 0, 6)[1], expected + WIDTH)


@pytest.mark.parametrize("name", ["asking", "found"])
def test_a_matrix_that_is_missing_is_told(tmp_path, name) -> None:
    tokens, matrices, gains = numbers(card(kind="attentive"))
    write_head(tmp_path / "h.safetensors", card(kind="attentive"), tokens,
               {each: matrices[each] for each in matrices if each != name}, gains)  # fmt: skip
    with pytest.raises(BadFile, match=name):
        AttentiveCell(HeadFile(tmp_path / "h.safetensors"), TargetRows(Matrix(TABLE), Matrix(TABLE)))


# ------------------------------------------------------------------------------------------------ the drafter's part


class Noted:
    """A memory that keeps what came, by its number."""

    slot = 0

    def __init__(self) -> None:
        self.rows: dict[int, tuple[list, int]] = {}


class NotingCell(TableCell):
    """What it says depends on the last row alone; it notes all that it is told of."""

    def memory(self) -> Noted:
        self.last = Noted()
        return self.last

    def begin(self, given, last, *pasts):
        assert sum(past.rows for past in pasts) == len(given) == len(last)
        ends = np.cumsum([past.rows for past in pasts])
        for past, end in zip(pasts, ends.tolist(), strict=True):
            for back in range(past.rows):
                row = end - past.rows + back
                past.memory.rows[past.first + back] = given[row].tolist(), int(last[row])
        return super().begin(given[ends - 1], last[ends - 1])


SHAPE = (((0, 2),), ((0, 2), (1, 1)), ((1, 1), (2, 1)))


@pytest.mark.parametrize("rule", ["traversal", "token"])
@pytest.mark.parametrize("seed", range(8))
def test_every_row_of_a_run_comes_once_with_the_token_behind_it(rule, seed) -> None:
    shape = SHAPE if rule == "traversal" else (((0, 1),), ((0, 1),), ((0, 1),))
    drafter = HeadDrafter.over(NotingCell(SAYS, KNOWN["all"]), Given(shape), 3)

    class Seeded:
        def sample(self, index):
            return PhiloxRandomness(seed, index)

    text = [*PROMPT, *text_of(case(shape), Seeded(), rule, drafter, 8)]
    rows = drafter._cell.last.rows
    assert list(rows) == list(range(len(rows)))
    assert len(rows) > 7
    for number, (given, token) in rows.items():
        place = len(PROMPT) + number
        assert token == text[place]
        assert given == features(text[:place], 3).tolist()


def test_a_head_that_looks_back_changes_no_law() -> None:
    scenario = replace(case((((0, 2),), ((0, 1),))), max_tokens=3)
    found = law_of_text(scenario, lambda: HeadDrafter.over(NotingCell(), Given((((0, 2),), ((0, 1),))), 3))
    expected = text_law(scenario, PROMPT)
    assert set(found) <= set(expected)
    assert max(abs(found.get(text, 0.0) - chance) for text, chance in expected.items()) < 1e-12


def scores(tokens, first) -> Scores:
    """Of a chain that was kept: row k has the number first + k."""
    hidden = (first + np.arange(len(tokens), dtype=np.float32)).reshape(-1, 1, 1)
    return Scores(np.zeros((len(tokens), 3)), hidden, Proposal.chain(tokens[:-1]))


def test_rows_wait_until_something_is_drafted_and_no_more_than_so_many() -> None:
    rows = KnownRows(Noted())
    rows.commit([1], scores([1], 0))
    rows.commit([2, 0], scores([2, 0], 1))
    assert (rows.tokens, rows.features.ravel().tolist()) == ([1, 2, 0], [0, 1, 2])
    assert rows.tell()[0][1:] == (0, 3)
    rows.told()
    assert (rows.tokens, rows.tell()[0][1:]) == ([0], (2, 1))  # asked again
    rows.commit([1, 1], scores([1, 1], 3))
    assert (rows.tokens, rows.tell()[0][1:]) == ([1, 1], (3, 2))
    rows.commit([2], None)
    assert rows.features is None
    assert rows.tokens == []
    for number in range(MOST + 5):
        rows.commit([number], scores([number], 6 + number))
    assert rows.tokens == list(range(5, MOST + 5))
    assert rows.tell()[0][1:] == (11, MOST)
    assert rows.features.ravel().tolist() == [11 + k for k in range(MOST)]


def test_it_keeps_the_contract_of_a_drafter(file, cell) -> None:
    class Fed(HeadDrafter):
        """Shown states of no meaning, in every round."""

        def open(self, tokens, law):
            state, text = super().open(tokens, law), list(tokens)
            commit = state.commit

            def shown(more, _=None) -> None:
                start = len(text)
                text.extend(more)
                given = written(len(more), start)[0]
                commit(more, Scores(np.zeros((len(more), VOCAB)), given, Proposal.chain(more[:-1])))

            state.commit = shown
            shown([1])
            return state

    for check_ in drafter_checks(lambda: Fed.over(cell, Trees(Settled((0.5, 0.4)), 4), VOCAB), VOCAB):
        check_()
