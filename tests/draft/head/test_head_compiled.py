"""The compiled network against the formulas in plain numpy, over the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from draft.head.random_heads import INNER, LAYERS, VOCAB, WIDTH, PlainCell, card, dense, write
from truedraw.draft.head.compiled import TargetRows, run
from truedraw.draft.head.file import HeadFile
from truedraw.draft.head.kinds.recurrent import RecurrentCell, all_blocks, lent
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import quantise
from truedraw.engine.native.laying import blocks_of
from truedraw.errors import BadFile
from truedraw.threads.crew import crew_of

STREAMS = len(LAYERS) + 1
OFF = 0.03  # of the spread: rows are rounded to 8 bits


def embedding(kind: str) -> Matrix:
    values = np.random.default_rng(7).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    return quantise(values) if kind == "int8" else Matrix(values)


def numbers_of(matrix: Matrix) -> np.ndarray:
    return matrix.values.astype(np.float64) if matrix.scales is None else dense(matrix)


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> HeadFile:
    return HeadFile(write(tmp_path_factory.mktemp("heads") / "head.safetensors", seed=5))


@pytest.fixture(scope="module", params=["int8", "float32"])
def cells(request, file):
    held = embedding(request.param)
    return RecurrentCell(file, TargetRows(held, held), threads=1), PlainCell(file, numbers_of(held))


def some(rows: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, STREAMS, WIDTH)).astype(np.float32) * 3, rng.integers(0, VOCAB, rows)


def near(found, expected) -> bool:
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max()) < OFF * float(np.std(expected)) * 3


@pytest.mark.parametrize("rows", [1, 2, 5, 17])
def test_it_is_the_network_of_the_formulas(cells, rows: int) -> None:
    compiled, plain = cells
    features, last = some(rows)
    state, logits = (each.copy() for each in compiled.begin(features, last))
    expected = plain.begin(features.astype(np.float64), last)
    assert near(state, expected[0])
    assert near(logits, expected[1])
    for step in range(3):
        tokens = np.random.default_rng(step).integers(0, VOCAB, rows)
        expected = plain.step(state.astype(np.float64), tokens)
        state, logits = (each.copy() for each in compiled.step(state, tokens))
        assert near(state, expected[0])
        assert near(logits, expected[1])


@pytest.mark.parametrize(("rows", "called"), [(1, 2), (2, 2), (3, 3)])
def test_a_lone_row_of_a_graph_is_called_as_two(rows: int, called: int) -> None:
    """Outputs of several rows a text among them."""

    class Request:
        def run(self, given):
            self.given = given["x"]

        def output(self, name):
            return self.given if name == "one" else np.repeat(self.given, 3, axis=0)

    request, x = Request(), np.arange(rows)[:, None]
    one, three = run(request, {"x": x}, "one", "three")
    assert len(request.given) == called
    assert one.tolist() == x.tolist()
    assert three.tolist() == np.repeat(x, 3, axis=0).tolist()


def test_a_row_does_not_depend_on_the_others(cells) -> None:
    compiled, _ = cells
    features, last = some(6)
    whole = [each.copy() for each in compiled.begin(features, last)]
    for start, stop in ((0, 2), (1, 4), (3, 6)):
        for found, expected in zip(compiled.begin(features[start:stop], last[start:stop]), whole, strict=True):
            np.testing.assert_array_equal(found, expected[start:stop])


def test_states_of_one_call_go_into_the_next(cells) -> None:
    """Some of them, and again, as they are when a tree grows; they are read before they are overwritten."""
    compiled, plain = cells
    features, last = some(4)
    expected, _ = plain.begin(features.astype(np.float64), last)
    state, _ = compiled.begin(features, last)
    for places in ([2, 0, 2], [1, 1], [0, 1]):
        tokens = np.arange(3, 3 + len(places))
        state, _ = compiled.step(state[places], tokens)
        expected, _ = plain.step(expected[places], tokens)
        assert float(np.abs(state - expected).max()) < 0.1 * float(np.std(expected))  # what is rounded adds up


@pytest.mark.parametrize("rows", [1, 4, 70])
def test_threads_that_share_a_step_find_the_same_bits(tmp_path, rows: int) -> None:
    path, held, (given, last) = write(tmp_path / "head.safetensors", card()), embedding("int8"), some(rows)
    alone, together = (
        RecurrentCell(HeadFile(path), TargetRows(held, held, crew=crew_of(threads))) for threads in (1, 2)
    )
    expected = alone.begin(given, last)
    for _ in range(100):
        for found, usual in zip(together.begin(given, last), expected, strict=True):
            np.testing.assert_array_equal(found, usual)


@pytest.mark.parametrize("known", [1, 40, VOCAB])
def test_the_first_tokens_are_written_by_the_targets_own_blocks(tmp_path, known: int) -> None:
    """No copy, and what a copy says, bit for bit."""
    path = write(tmp_path / "head.safetensors", card(tokens=known), tokens=np.arange(known))
    held, (features, last) = embedding("int8"), some(3)
    copied = TargetRows(held, held)
    lending = copied._replace(blocks=blocks_of(held))
    for blocks, others in zip(lent(lending, np.arange(known)), lending.blocks, strict=True):
        assert np.shares_memory(blocks, others)
    found = [RecurrentCell(HeadFile(path), rows, threads=1).begin(features, last) for rows in (lending, copied)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("tokens", [[1, 2, 3], [0, 2, 3]])
def test_other_tokens_are_copied(tmp_path, tokens) -> None:
    path = write(tmp_path / "head.safetensors", card(tokens=len(tokens)), tokens=np.array(tokens))
    held = embedding("int8")
    [found] = all_blocks(HeadFile(path), TargetRows(held, held, blocks=blocks_of(held)), list)
    expected = blocks_of(Matrix(held.values[tokens], held.scales[tokens]))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


WRONG = {
    "gate and up": lambda cell: setattr(cell, "up", np.roll(cell.up, INNER, axis=0)),
    "streams": lambda cell: setattr(cell, "start", np.roll(cell.start, WIDTH, axis=1)),
    "gain": lambda cell: setattr(cell, "gain", np.ones(WIDTH)),
    "token": lambda cell: setattr(cell, "token", cell.token.T),
    "output": lambda cell: setattr(cell, "output", np.eye(WIDTH)),
    "known": lambda cell: setattr(cell, "written", np.roll(cell.written, 1, axis=0)),
}


@pytest.mark.parametrize("part", WRONG)
def test_another_network_would_be_noticed(cells, file, part) -> None:
    compiled, right = cells
    wrong = PlainCell(file, right.embedding)
    WRONG[part](wrong)
    features, last = some(5)
    expected = wrong.begin(features.astype(np.float64), last)
    found = compiled.begin(features, last)
    assert not all(near(each, other) for each, other in zip(found, expected, strict=True))


def test_only_the_last_layer_is_read(tmp_path) -> None:
    """A head may read the final norm's output alone."""
    path = write(tmp_path / "head.safetensors", card(layers=()))
    held, (features, last) = embedding("int8"), some(3)
    compiled, plain = RecurrentCell(HeadFile(path), TargetRows(held, held)), PlainCell(HeadFile(path), dense(held))
    assert near(compiled.begin(features[:, :1], last)[1], plain.begin(features[:, :1].astype(float), last)[1])


@pytest.mark.parametrize("changes", [{"width": WIDTH + 2}, {"layers": (1,)}])
def test_a_card_that_does_not_fit_its_numbers(tmp_path, changes) -> None:
    path = write(tmp_path / "head.safetensors")
    file = HeadFile(path)
    object.__setattr__(file, "card", card(**changes))
    rows = Matrix(np.zeros((VOCAB, file.card.width), np.float32))
    with pytest.raises(BadFile, match="is damaged"):
        RecurrentCell(file, TargetRows(rows, rows))
