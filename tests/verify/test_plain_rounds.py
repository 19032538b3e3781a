"""Many texts without drafts, decided in one call, are decided as one by one, token by token and bit for bit."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace as Made

import numpy as np
import pytest

from helping import helped
from truedraw import load
from truedraw.engine.cpu.paged_engine import PagedEngine
from truedraw.generate import drawn_plainly
from truedraw.generate.means import Means
from truedraw.protocol import NOTHING, Scores
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.stats.check.machine import compiled_rounds
from truedraw.testing.rounds import LAWS, POSITION, RULES, AnyRound, law_of
from truedraw.threads.board import num_threads
from truedraw.threads.crew import crew_of
from truedraw.verify.fused.judge import Decided
from truedraw.verify.fused.plain_rounds import Asked, PlainRounds

VOCAB, TEXTS = 3000, len(LAWS) + 1


@pytest.fixture(scope="module")
def crew():
    return crew_of(2)


def any_texts(rng: np.random.Generator, vocab: int = VOCAB) -> list[AnyRound]:
    """Of all laws in turn, beside one another."""
    rows = rng.normal(0, 2, (TEXTS, 1, vocab)).astype(np.float32)
    chances = [PhiloxRandomness(int(rng.integers(1 << 62)) * 3, int(rng.integers(9))) for _ in rows]
    laws = [law_of(rng, LAWS[text % len(LAWS)], vocab) for text in range(TEXTS)]
    return [AnyRound(law, NOTHING, row, chance) for law, row, chance in zip(laws, rows, chances, strict=True)]


def asked(one: AnyRound, rule: str) -> Asked:
    return Asked(one.logits[0], one.law.fused.how, one.chance.name, POSITION, rule == "coupled", one.law.edits())


def told(found: Decided):
    return found.verdict, (found.logprobs, found.sampling_logprobs)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("helpers", [0, 1])
def test_texts_are_decided_together_as_step_by_step(crew, rule: str, helpers: int) -> None:
    rng, rounds = np.random.default_rng(3), PlainRounds(*([crew.board] * helpers))
    for vocab in (VOCAB, 40, 40, 20_000):
        texts = any_texts(rng, vocab)
        together = [asked(one, rule) for one in texts]
        found = helped(crew, partial(rounds.decide, together)) if helpers else rounds.decide(together)
        assert [told(each) for each in found] == [one.step_by_step(rule) for one in texts]


def test_rules_draw_by_names_of_their_own() -> None:
    (one, *_), rounds = any_texts(np.random.default_rng(4)), PlainRounds()
    twins = [replace(one, chance=PhiloxRandomness(seed)) for seed in range(40)]
    first, second = ([each.verdict for each in rounds.decide([asked(one, rule) for one in twins])] for rule in RULES)
    assert first != second


def test_a_row_without_a_law_is_left_to_the_rule() -> None:
    texts = any_texts(np.random.default_rng(5))
    texts[1].logits[0, 7] = np.nan
    texts[4].logits[0] = -np.inf
    found = PlainRounds().decide([asked(one, "coupled") for one in texts])
    assert [place for place, each in enumerate(found) if each is None] == [1, 4]


def test_as_many_take_part_as_a_board_has_places_for(crew) -> None:
    assert num_threads(crew.board) == crew.num_threads == 2
    assert PlainRounds()._board.size == 0
    assert num_threads(PlainRounds()._board) == 1


@pytest.mark.parametrize(
    "law", [{}, {"temperature": 0.7, "top_p": 0.9}, {"repetition_penalty": 1.2, "no_repeat_ngram_size": 3}]
)
@pytest.mark.parametrize("rule", ["coupled", "traversal"])
def test_samples_of_a_batch_are_those_of_each_alone(law: dict, rule: str, monkeypatch) -> None:
    calls: list[int] = []
    decide = PlainRounds.decide
    monkeypatch.setattr(PlainRounds, "decide", lambda self, asked: calls.append(len(asked)) or decide(self, asked))
    speculative = {"method": "none", "rejection_sample_method": rule}
    run = {"max_tokens": 6, "seed": 5, "speculative": speculative, **law}
    with load("smollm2-135m") as model:
        together = model.generate("the cat", n=5, **run)
        assert calls
        assert max(calls) == 5
        monkeypatch.setattr(drawn_plainly, "ALONE", 100)
        calls.clear()
        one_by_one = model.generate("the cat", n=5, **run)
    assert not calls
    for a, b in zip(together.choices, one_by_one.choices, strict=True):
        assert (a.tokens, a.logprobs, a.sampling_logprobs) == (b.tokens, b.logprobs, b.sampling_logprobs)


@pytest.mark.parametrize("spoilt", [False, True])
def test_a_check_looks_at_it(spoilt: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One text of a hundred has another token."""
    if spoilt:
        draw, calls = PlainRounds.draw, iter(range(10_000))

        def sometimes(self, *given):
            found = draw(self, *given)
            found[:, 0] = 1 - np.minimum(found[:, 0], 1) if next(calls) == 77 else found[:, 0]
            return found

        monkeypatch.setattr(PlainRounds, "draw", sometimes)
    assert compiled_rounds(100).passed is not spoilt


class Own(find("verifiers", "coupled")):  # type: ignore[misc]
    """Somebody's rule that is made of a built-in one."""


def test_only_what_compiled_code_knows_is_asked_for() -> None:
    """Drafts, others' rules, other laws and chance that is no Philox are left out; a law that raises fails alone."""
    one = any_texts(np.random.default_rng(6))[0]
    scores = Scores(one.logits)
    usual = {
        "parts": Made(verifier=find("verifiers", "coupled")()), "law": one.law, "randomness": one.chance,
        "proposal": None, "sequence": Made(tokens=[1, 2]),
    }  # fmt: skip
    odd = (
        {"parts": Made(verifier=Own())},
        {"law": SamplingLaw(SamplingParams(typical_p=0.5))},
        {"randomness": object()},
        {"proposal": [1]},
    )
    samples = [Made(number=number, **usual | each) for number, each in enumerate(({}, *odd, {}))]
    turn = Made(samples=samples, scores=[scores] * len(samples))
    assert sorted(drawn_plainly.drawn_plainly(turn, Means())) == [0, 5]


def test_what_the_call_takes_is_told_with_the_rounds(monkeypatch) -> None:
    """Controllers learn from it what a round takes beside its pass."""
    decide = PlainRounds.decide
    monkeypatch.setattr(PagedEngine, "abreast", lambda *_: None)
    monkeypatch.setattr(PlainRounds, "decide", lambda self, asked: time.sleep(0.1) or decide(self, asked))
    done = []
    with load("smollm2-135m") as model:
        run = model.start("the cat", n=4, max_tokens=3, ignore_eos=True, speculative=False, seed=1)
        for rounds in run:
            done += rounds
    together = [each for each in done if each.seconds - each.engine_seconds > 0.02]
    assert len(together) >= 8
