"""Passes of a few rows by graphs of a fixed shape: the same bits, once they have paid for themselves, or not at all."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from engine.decoder import random_tree, tiny_engine
from engine.pages import TEXT, rows
from truedraw.engine.cpu import passes as running
from truedraw.engine.cpu.selftest import check_invariance
from truedraw.engine.openvino.compiling import compile_graph
from truedraw.engine.openvino.fixed import MOST_GRAPHS, NARROW, PROOFS, FixedGraphs, Shape, shape_of
from truedraw.engine.openvino.runner import Runner
from truedraw.errors import BadParameter
from truedraw.protocol import Fill, Proposal, Work


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fixed")


def loaded(folder, after, **options):
    engine = tiny_engine(folder, numerics="runtime", fixed_after=after, **options)
    if not engine.invariance.holds:
        pytest.skip(f"this processor's kernels are not invariant: {engine.invariance}")
    return engine


@pytest.fixture(scope="module")
def usual(folder):
    engine = loaded(folder, -1, hidden_layers=(0, 1))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def fixed(folder):
    engine = loaded(folder, 0, hidden_layers=(0, 1))
    yield engine
    engine.close()


ONE_TEXT = {Shape(size, size) for size in NARROW}
PAIR = Shape(2, 2)


def made(engine):
    """The shapes of the graphs that serve."""
    graphs = engine._passes.fixed
    return {shape for shape, runner in graphs._made.items() if runner is not None and graphs.is_proven(shape)}


def compared(usual, fixed, passes):
    """The scores of both engines, pass by pass."""
    for given in passes:
        found = [given(engine) for engine in (usual, fixed)]
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one.logits, other.logits)
            np.testing.assert_array_equal(one.hidden, other.hidden)


def scored(engine, *works):
    """Copies of what one pass says of (text, proposal) each."""
    texts = [engine.open(text, alone=True) for text, _ in works]
    for text in texts:
        engine.forward([], [Fill(text, text.num_uncached - 1)] if text.num_uncached > 1 else [])
    found = engine.forward([Work(text, work[1]) for text, work in zip(texts, works, strict=True)])
    copies = [type(each)(each.logits.copy(), each.hidden.copy()) for each in found]
    for text in texts:
        text.close()
    return copies


def test_the_bits_are_those_of_the_other_graph(usual, fixed):
    rng = np.random.default_rng(0)
    chains = [[(TEXT[:depth], Proposal.chain(TEXT[depth : depth + length]))]
              for depth in (1, 5, 31, 32, 33, 90) for length in range(8)]  # fmt: skip
    trees = [[(TEXT[:40], random_tree(rng, nodes, usual.vocab_size))] for nodes in (2, 3, 5) for _ in range(8)]
    ragged = [[(TEXT[:20], Proposal.chain(TEXT[20:22])), (TEXT[:3], Proposal.chain([]))] for _ in range(3)]
    alone = [[(TEXT[:count], Proposal.chain([])) for count in range(1, texts + 1)] for texts in (1, 2, 4, 5)]
    compared(usual, fixed, [lambda engine, works=works: scored(engine, *works)
                            for works in (*chains, *trees, *ragged, *alone)])  # fmt: skip
    assert made(fixed) >= ONE_TEXT


def test_the_self_test_holds_across_both_graphs(fixed):
    report = check_invariance(fixed)
    assert report.holds, report
    assert made(fixed) >= ONE_TEXT - {Shape(4, 4)}  # no way of computing in it has four rows


def test_hidden_states_of_text_come_along(folder):
    engines = [loaded(folder, after, hidden_layers=(0, 1), hidden_text=True) for after in (-1, 0)]
    told = []
    for engine in engines:
        for length in (2, 2, 2, 2, 2):
            text = engine.open(TEXT[:length], alone=True)
            told.append([part.hidden.copy() for part in engine.forward([Work(text)])[0].text])
            text.close()
    assert PAIR in made(engines[1])
    for one, other in zip(told[:5], told[5:], strict=True):
        np.testing.assert_array_equal(np.concatenate(one), np.concatenate(other))
    for engine in engines:
        engine.close()


def test_only_a_lone_row_has_padding(fixed):
    for drafts, padding in ((0, 1), (1, 0), (2, 0), (5, 0)):
        scored(fixed, (TEXT[:9], Proposal.chain(TEXT[9 : 9 + drafts])))
        assert fixed.padding_rows == padding


def test_other_bits_are_never_used(folder, usual, monkeypatch):
    said = iter(range(1000))
    monkeypatch.setattr(running, "told", lambda *given: next(said))
    engine = loaded(folder, 0)
    for length in (0, 1, 0, 1, 0):
        draft = Proposal.chain(TEXT[1 : 1 + length])
        np.testing.assert_array_equal(rows(engine, TEXT[:1], draft), rows(usual, TEXT[:1], draft))
    assert engine._passes.fixed._made == {PAIR: None}
    engine.close()


def flip(numbers: np.ndarray, place: tuple[int, ...]) -> None:
    """The last bit of one of them."""
    numbers.view(np.uint32)[place] ^= 1


DAMAGES = {
    "logits": lambda batch, logits, hidden: flip(logits, (0, 0)),
    "the last row": lambda batch, logits, hidden: flip(logits, (batch.places[-1].stop - 1, -1)),
    "hidden states": lambda batch, logits, hidden: flip(hidden, (0, 0, 0)),
    "those of text": lambda batch, logits, hidden: flip(hidden, (batch.text_places()[0].start, 0, 0)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_graph_is_found_out_and_never_heard(folder, monkeypatch, damage) -> None:
    """Its first passes are compared, and the cache keeps what the other one wrote."""
    run = Runner.run

    def damaged(self, batch):
        logits, hidden = (np.array(part) for part in run(self, batch))
        if self in engine._passes.fixed._made.values():
            DAMAGES[damage](batch, logits, hidden)
        return logits, hidden

    usual, engine = (loaded(folder, after, hidden_layers=(0, 1), hidden_text=True) for after in (-1, 0))
    monkeypatch.setattr(Runner, "run", damaged)
    for depth in range(2, 6):  # of which the first is text whose hidden states are told
        found = []
        for each in (usual, engine):
            text = each.open(TEXT[:depth], alone=True)
            scores = each.forward([Work(text, Proposal.chain(TEXT[depth : depth + 2]))])[0]
            found.append((scores.logits.copy(), scores.hidden.copy(), [part.hidden.copy() for part in scores.text]))
            text.close()
        for one, other in zip(found[0][:2], found[1][:2], strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(found[0][2], found[1][2])
    graphs = engine._passes.fixed
    assert set(graphs._made.values()) == {None}
    usual.close()
    engine.close()


def test_text_whose_logits_nobody_wants_proves_nothing(fixed) -> None:
    before = dict(fixed._passes.fixed._passes)
    text = fixed.open(TEXT[:6], alone=True)
    fixed.forward([], [Fill(text, 5)])
    assert fixed._passes.fixed._passes == before
    text.close()


@pytest.mark.parametrize("error", [RuntimeError("no memory"), MemoryError()])
def test_a_graph_that_fails_is_not_used_again(folder, usual, monkeypatch, error) -> None:
    engine, run = loaded(folder, 0), Runner.run
    rows(engine, TEXT[:3])

    def failing(self, batch):
        if self in engine._passes.fixed._made.values():
            raise error
        return run(self, batch)

    monkeypatch.setattr(Runner, "run", failing)
    for _ in range(2):
        np.testing.assert_array_equal(rows(engine, TEXT[:3]), rows(usual, TEXT[:3]))
    assert set(engine._passes.fixed._made.values()) == {None}
    engine.close()


@pytest.mark.parametrize("error", [RuntimeError("no such property: SNIPPETS_MODE"), MemoryError()])
def test_what_cannot_be_compiled_is_not_asked_for_again(folder, usual, monkeypatch, error):
    engine = loaded(folder, 0)
    tried = []

    def refused(*given):
        tried.append(given)
        raise error

    monkeypatch.setattr("truedraw.engine.cpu.shallow.compile_graph", refused)
    for _ in range(3):
        np.testing.assert_array_equal(rows(engine, TEXT[:3]), rows(usual, TEXT[:3]))
    assert [given[-1] for given in tried] == [Shape(4, 4)]
    engine.close()


def test_large_weights_and_never(folder, monkeypatch):
    monkeypatch.setattr("truedraw.engine.cpu.shallow.MOST_BYTES", 1000)
    assert loaded(folder, 0)._passes.fixed is None
    monkeypatch.undo()
    assert loaded(folder, -1)._passes.fixed is None


@pytest.mark.parametrize("wrong", [-2, 1.5, True, "4"])
def test_bad_counts(tmp_path, wrong):
    with pytest.raises(BadParameter, match=r"fixed_after.*-1 for never"):
        tiny_engine(tmp_path, fixed_after=wrong)


class Maker:
    """Compiles as long as it is told to; what it makes is a word."""

    def __init__(self, error=None) -> None:
        self.tried, self.begun, self.go, self.error = [], threading.Event(), threading.Event(), error

    def __call__(self, shape):
        self.tried.append(shape)
        self.begun.set()
        assert self.go.wait(60)
        if self.error:
            raise self.error
        return f"graph of {shape.rows}"


def test_texts_go_on_while_it_is_compiled():
    make = Maker()
    graphs = FixedGraphs(make, after=10)
    assert [graphs.runner(PAIR) for _ in range(30)] == [None] * 30
    make.go.set()
    graphs.settle()
    assert graphs.runner(PAIR) == "graph of 2"
    assert make.tried == [PAIR]


def test_it_is_compiled_once_it_has_paid_for_itself():
    make = Maker()
    make.go.set()
    graphs = FixedGraphs(make, after=10)
    for _ in range(9):
        graphs.runner(PAIR)
        graphs.runner(None)  # a prompt
    graphs.settle()
    assert make.tried == []
    graphs.runner(PAIR)
    graphs.settle()
    assert make.tried == [PAIR]


def test_at_once_is_in_the_first_pass():
    make = Maker()
    make.go.set()
    assert FixedGraphs(make, after=0).runner(PAIR) == "graph of 2"


def test_one_at_a_time():
    make = Maker()
    graphs = FixedGraphs(make, after=2)
    for shape in (PAIR, PAIR, Shape(4, 4), Shape(4, 4), Shape(4, 4)):
        graphs.runner(shape)
    assert make.begun.wait(60)
    assert make.tried == [PAIR]
    make.go.set()
    graphs.settle()
    graphs.runner(PAIR)
    graphs.runner(PAIR)
    graphs.settle()
    assert make.tried == [PAIR, Shape(4, 4)]


def test_only_so_many():
    make = Maker()
    make.go.set()
    graphs = FixedGraphs(make, after=0)
    found = [graphs.runner(Shape(rows, rows)) for rows in range(2, 2 + MOST_GRAPHS + 2)]
    assert found[MOST_GRAPHS:] == [None, None]
    assert len(make.tried) == MOST_GRAPHS


def test_an_error_that_nobody_foresaw_is_told_once():
    make = Maker(KeyError("a bug"))
    make.go.set()
    graphs = FixedGraphs(make, after=0)
    with pytest.raises(KeyError, match="a bug"):
        graphs.runner(PAIR)
    assert graphs.runner(PAIR) is None
    assert make.tried == [PAIR]


def test_without_a_thread_texts_go_on(monkeypatch):
    """As at the end of the program."""

    def refused(*_):
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr("truedraw.engine.openvino.fixed.beside", refused)
    graphs = FixedGraphs(Maker(), after=1)
    assert [graphs.runner(PAIR) for _ in range(3)] == [None] * 3
    assert graphs._made == {PAIR: None}


def test_an_interruption_while_passes_are_measured_keeps_the_graphs(fixed, monkeypatch):
    graphs = fixed._passes.fixed
    with monkeypatch.context() as patch:
        patch.setattr(graphs, "settle", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            fixed.pass_costs()
    assert fixed._passes.fixed is graphs


@pytest.mark.parametrize("act", ["pass_costs", "close"])
def test_an_engine_measures_and_closes_alone(folder, act):
    """What is compiled in the thread reads the constants, and keeps a core busy."""
    make, engine = Maker(), loaded(folder, 1)
    engine._passes.fixed._make = make
    rows(engine, TEXT[:3])
    assert make.begun.wait(60)
    threading.Timer(0.3, make.go.set).start()
    getattr(engine, act)()
    assert make.go.is_set()
    engine.close()


def test_one_proof_is_not_enough():
    graphs = FixedGraphs(lambda shape: "graph", after=0)
    for _ in range(PROOFS):
        assert graphs.runner(PAIR) == "graph"
        assert not graphs.is_proven(PAIR)
        graphs.prove(PAIR, equal=True)
    assert graphs.is_proven(PAIR)
    graphs.prove(PAIR, equal=False)
    assert graphs.runner(PAIR) is None


def test_what_is_measured_at_a_load_does_not_count(folder):
    engine = loaded(folder, 0)
    assert not engine._passes.fixed._passes
    engine.pass_costs(anew=True)
    assert not engine._passes.fixed._passes
    engine.close()


def test_it_is_compiled_for_as_many_threads_and_without_both_copies_in_memory(folder, monkeypatch):
    engine = loaded(folder, 0, threads=1)
    constants, entered = engine._layers.constants, []
    forgetting = constants.forgetting

    def counted():
        entered.append(1)
        return forgetting()

    monkeypatch.setattr(constants, "forgetting", counted)
    made = []
    monkeypatch.setattr(
        "truedraw.engine.cpu.shallow.compile_graph", lambda *given: made.append(compile_graph(*given)) or made[-1]
    )
    rows(engine, TEXT[:1])
    assert [int(graph.get_property("INFERENCE_NUM_THREADS")) for graph in made] == [1]
    assert entered == [1]
    engine.close()


def test_shapes():
    def part(ids, lanes, wanted=0):
        return SimpleNamespace(
            ids=[0] * ids, lanes=[SimpleNamespace(rows=range(n)) for n in lanes], first_wanted=wanted
        )

    assert shape_of([part(1, [2])]) == (2, 2)
    assert shape_of([part(3, [3]), part(1, [2])]) == (8, 8)
    assert shape_of([part(4, [3, 3, 3])]) == (4, 12)
    assert shape_of([part(5, [5], wanted=3)]) == (8, 8)
    assert shape_of([part(5, [5], wanted=5)]) is None
    assert shape_of([part(9, [9], wanted=1)]) is None
    assert shape_of([part(1, [2])] * 64) == (64, 128)
    assert shape_of([part(1, [2])] * 65) is None


def test_wide_passes_of_many_texts_too(folder, usual, monkeypatch):
    """With one row each, with drafts, and with a row count between two steps of the ladder."""
    monkeypatch.setattr("truedraw.engine.openvino.fixed.MOST_GRAPHS", 9)
    engine = loaded(folder, 0, hidden_layers=(0, 1))
    for texts, drafts in ((9, 0), (12, 0), (12, 1), (3, 4)):
        works = [(TEXT[: 3 + number], Proposal.chain(TEXT[90 : 90 + drafts])) for number in range(texts)]
        for _ in range(PROOFS + 1):
            compared(usual, engine, [lambda engine, works=works: scored(engine, *works)])
    assert made(engine) >= {Shape(12, 24), Shape(24, 24), Shape(16, 16)}
    engine.close()


def test_prompts_are_not_among_them(fixed):
    """Their rows need no logits, and those of a fixed graph all have some."""
    before = dict(fixed._passes.fixed._passes)
    text = fixed.open(TEXT[:30], alone=True)
    fixed.forward([Work(text)])
    text.close()
    assert fixed._passes.fixed._passes == before
