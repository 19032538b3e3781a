"""Contrastive decoding: the scores by definition, the contract of an engine, the enumerated law, seeds."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

from engine.decoder import tiny_engine
from enumeration import law_of, total_variation
from generate.runs import PROMPT, run
from known_laws import Scenario, lookup, normalised, random_table, text_law
from truedraw import Model, load
from truedraw.draft.ngram import NgramDrafter
from truedraw.engine.contrastive import ContrastiveEngine, contrasted
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadInput, BadParameter, EngineError, OutOfPages
from truedraw.generate.contrast import contrast
from truedraw.protocol import Fill, Work
from truedraw.registry import find
from truedraw.sampling.law import softmax
from truedraw.testing import engine_checks
from truedraw.testing.stuck import STUCK, run_or_error

ROOM = 32 << 10  # bytes of a page of the tiny model
EXPERT, AMATEUR = random_table(3, 1, 50), random_table(3, 2, 51)
EXCLUDES = {**random_table(3, 1, 51), (2,): [0.5, 0.5, 0.0]}
ZEROS = random_table(4, 1, 52, zeros=0.4), random_table(4, 1, 53)


def defined(expert, amateur, alpha: float, beta: float) -> list[float]:
    """Li et al., equations 1 and 2, with the score of O'Brien and Lewis, in plain Python."""
    floor = alpha * max(expert)
    pairs = zip(expert, amateur, strict=True)
    return normalised([math.exp((1 + beta) * math.log(e) - beta * math.log(a)) if e and e >= floor else 0.0
                       for e, a in pairs])  # fmt: skip


def contrasted_table(expert, amateur, alpha, beta):
    """The law by definition after every context that either of the two tells apart."""
    contexts = expert.keys() | amateur.keys()
    return {c: defined(lookup(expert, c), lookup(amateur, c), alpha, beta) for c in contexts}


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.5), (0.1, 1.0), (0.5, 0.0), (1.0, 2.0), (1e-9, 0.3)])
@pytest.mark.parametrize("tables", [(EXPERT, AMATEUR), ZEROS], ids=["dense", "zeros"])
def test_the_law_of_a_row_is_the_definition(tables, alpha: float, beta: float) -> None:
    engine = ContrastiveEngine(TabularEngine(tables[0]), TabularEngine(tables[1]), alpha, beta)
    vocab = engine.vocab_size
    for text in ([0], [1, 2], [2, 0, 1]):
        row = engine.forward([Work(engine.open(text))])[0].logits[0]
        expected = defined(lookup(tables[0], text), lookup(tables[1], text), alpha, beta)
        assert softmax(row, 1.0) == pytest.approx(expected, abs=1e-14)
        assert len(row) == vocab


@pytest.mark.parametrize(
    "check",
    engine_checks(lambda: ContrastiveEngine(TabularEngine(EXPERT, 64), TabularEngine(AMATEUR, 80))),
    ids=str,
)
def test_it_keeps_the_contract_of_an_engine(check) -> None:
    check()


@pytest.mark.parametrize("verifier", ["token", "traversal", "coupled"])
@pytest.mark.parametrize("params", [{}, {"temperature": 1.6, "top_p": 0.9}], ids=["plain", "hot and narrow"])
def test_the_law_of_the_text_is_the_definition(params, verifier: str) -> None:
    table = contrasted_table(EXPERT, AMATEUR, 0.2, 0.7)
    case = Scenario("contrast", table, random_table(3, 1, 54), params, draft_tokens=2, max_tokens=3)
    for drafter in (None, NgramDrafter(1, 2)):
        law = law_of(
            lambda walker, d=drafter: run(case, walker, find("verifiers", verifier)(), d, contrast_engine())[0]
        )
        assert total_variation(law, text_law(case, PROMPT)) < 1e-12


def contrast_engine() -> ContrastiveEngine:
    return ContrastiveEngine(TabularEngine(EXPERT), TabularEngine(AMATEUR), 0.2, 0.7)


def test_plausibility_is_judged_before_any_temperature() -> None:
    """At a high temperature all tokens are alike, and still none returns that the expert finds implausible."""
    engine = ContrastiveEngine(TabularEngine({(): [0.9, 0.07, 0.03]}), TabularEngine({(): [0.2, 0.4, 0.4]}), alpha=0.05)
    row = engine.forward([Work(engine.open([0]))])[0].logits[0]
    assert (softmax(row, 100.0) > 0).tolist() == [True, True, False]


@pytest.fixture(scope="module")
def model() -> Model:
    with load("tabular", amateur="tabular", contrastive_alpha=0.01, contrastive_beta=0.25) as loaded:
        yield loaded


@pytest.mark.parametrize("seed", range(4))
def test_a_seed_gives_the_same_text_with_any_speculation(model: Model, seed: int) -> None:
    settings = {"seed": seed, "n": 3, "ignore_eos": True, "max_tokens": 40}
    plain = model.generate("the cat sat ran dog sat", speculative=False, **settings)
    fast = model.generate("the cat sat ran dog sat", speculative={"adaptive": False}, **settings)
    assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
    assert fast.stats.accepted > 0


def test_an_amateur_that_rules_out_what_is_plausible_is_an_error_of_the_row() -> None:
    rows = np.log(np.array([[0.5, 0.5], [0.5, 0.5]])), np.array([[0.0, -np.inf], [0.0, 0.0]])
    found = contrasted(*rows, 0.1, 0.5)
    with pytest.raises(EngineError, match="amateur"):
        softmax(found[0], 1.0)
    assert softmax(found[1], 1.0) == pytest.approx([0.5, 0.5])
    assert softmax(contrasted(*rows, 0.1, 0.0)[0], 1.0) == pytest.approx([0.5, 0.5])


class RuledOut(Scenario):
    """Behind token 2 the amateur excludes what the expert finds plausible."""

    engine = property(lambda self: ContrastiveEngine(TabularEngine(EXPERT), TabularEngine(EXCLUDES), 0.05, 0.7))


@pytest.mark.parametrize("verifier", ["token", "traversal", "coupled"])
def test_a_draft_that_leads_there_and_is_rejected_is_no_error(verifier: str) -> None:
    plain, drafted = (
        law_of(lambda walker, case=case: run_or_error(case, walker, find("verifiers", verifier)()))
        for case in (RuledOut("none", EXPERT, AMATEUR, {}, n, 3) for n in (0, 2))
    )
    assert any(STUCK in text for text in plain)
    assert total_variation(plain, drafted) < 1e-12


def test_one_text_that_comes_there_ends_no_other(model: Model) -> None:
    engine = RuledOut("few", EXPERT, AMATEUR).engine
    with Model("few", engine, model.tokenizer).batch() as batch:
        runs = [batch.add((0, 1), seed=seed, max_tokens=3, ignore_eos=True, speculative=False) for seed in range(40)]
        assert len(list(batch.completed())) == len(runs)
    ended = [run for run in runs if run.error is not None]
    assert 0 < len(ended) < len(runs)
    assert all("amateur" in str(run.error) for run in ended)


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"amateur": "tabular", "contrastive_alpha": 0.0}, "contrastive_alpha"),
        ({"amateur": "tabular", "contrastive_alpha": 1.1}, "contrastive_alpha"),
        ({"amateur": "tabular", "contrastive_alpha": "0.1"}, "contrastive_alpha"),
        ({"amateur": "tabular", "contrastive_beta": -0.1}, "contrastive_beta"),
        ({"amateur": "tabular", "contrastive_beta": math.inf}, "contrastive_beta"),
        ({"amateur": "tabular", "contrastive_beta": 1e38}, "contrastive_beta"),
        ({"amateur": "tabular", "contrastive_beta": True}, "contrastive_beta"),
        ({"contrastive_alpha": 0.1}, "contrastive_alpha"),
        ({"contrastive_beta": 0.5}, "contrastive_beta"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given, parameter: str) -> None:
    with pytest.raises(BadParameter) as error:
        load("tabular", **given)
    assert error.value.parameter == parameter


def test_an_amateur_of_another_vocabulary_is_refused() -> None:
    from models.tiny_models import byte_tokenizer
    from truedraw.text import Tokenizer

    other = Model("other", TabularEngine(EXPERT), Tokenizer(byte_tokenizer(), eos_ids=(2,)))
    with pytest.raises(BadParameter, match="same family"):
        contrast(load("tabular"), other)


def test_one_engine_cannot_be_both() -> None:
    engine = TabularEngine(EXPERT)
    with pytest.raises(BadInput, match="one engine"):
        ContrastiveEngine(engine, engine)


def test_fills_and_evictions_reach_both_engines() -> None:
    engine = contrast_engine()
    sequence = engine.open([0, 1, 2, 0])
    engine.forward([], [Fill(sequence, 2)])
    assert (sequence.expert.num_uncached, sequence.amateur.num_uncached) == (2, 2)
    sequence.amateur.evict()
    assert sequence.num_uncached == 4
    engine.forward([], [Fill(sequence, 3)])
    assert (sequence.expert.num_uncached, sequence.amateur.num_uncached) == (1, 1)
    sequence.evict()
    assert (sequence.expert.num_uncached, sequence.amateur.num_uncached) == (4, 4)
    with pytest.raises(EngineError, match="a fill of"):
        engine.forward([], [Fill(sequence, 4)])


@pytest.mark.parametrize("narrow", ["expert", "amateur"])
def test_one_engine_without_room_stops_both(tmp_path, narrow: str) -> None:
    room = {"expert": 16 * ROOM, "amateur": 16 * ROOM, narrow: 4 * ROOM}
    with contextlib.ExitStack() as stack:
        engines = [tiny_engine(tmp_path, cache_bytes=room[name]) for name in ("expert", "amateur")]
        engine = ContrastiveEngine(*engines)
        stack.callback(engine.close)
        short, long = engine.open([1, 2, 3]), engine.open([5] * 120)
        assert engine.fits([Work(short)])
        assert not engine.fits([Work(short), Work(long)])
        with pytest.raises(OutOfPages):
            engine.forward([Work(short), Work(long)])
        with pytest.raises(OutOfPages):
            engine.fork(long, 2)
        assert (short.num_uncached, long.num_uncached) == (3, 120)
        assert [each.cache_use().pages_held for each in engines] == [0, 0]
        before = engine.forward([Work(short)])[0].logits.copy()
        short.evict()
        assert (engine.forward([Work(short)])[0].logits == before).all()
