"""Rounds of several texts that are computed a few at once are those that would have come one by one."""

from __future__ import annotations

import gc
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from generate.one_text import CONFIG, beside_a_head, opened
from truedraw import Model
from truedraw.control.fixed import FixedController
from truedraw.control.payoff import PayoffController
from truedraw.draft.head.chain_job import ChainJob
from truedraw.draft.head.state import HeadState
from truedraw.draft.none import NoState
from truedraw.draft.suffix import SuffixState
from truedraw.engine.cpu.paged_engine import PagedEngine
from truedraw.engine.paged.abreast import PagedAbreast
from truedraw.errors import TruedrawError
from truedraw.generate import seeds
from truedraw.generate.at_once import abreast, drafted, plan
from truedraw.generate.at_once.abreast import Abreast
from truedraw.generate.at_once.hearing import Hearers
from truedraw.generate.at_once.side import Side
from truedraw.generate.jobs import Jobs
from truedraw.generate.reader import TextReader
from truedraw.generate.sample import Sample
from truedraw.protocol import Stand, Work

PROMPT = "once upon a time there was"
SETTINGS = {"max_tokens": 40, "ignore_eos": True, "seed": 3}
CHAINS = {"method": "head", "adaptive": False, "num_speculative_tokens": 2, "draft_temperature": 1.0}
LAWS = {
    "plain": {},
    "cut": {"top_p": 0.9, "top_k": 50, "temperature": 0.8},
    "greedy": {"temperature": 0},
    "edits": {"repetition_penalty": 1.2, "logit_bias": {5: 1.0}},
    "bans": {"no_repeat_ngram": 2},
}
RUN = {"plain", "cut", "greedy", "edits"}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Model:
    """With a head that looks back, whose first texts of a batch miss no round."""
    place = beside_a_head(tmp_path_factory.mktemp("abreast"), kind="attentive")
    with opened(place, draft=place.head, numerics="native") as loaded:
        yield loaded


@pytest.fixture
def taken(monkeypatch) -> list[int]:
    """How many rounds came at once, each time that some did; time has no part in it."""
    found, take = [], Abreast.take

    def watched(self, turn):
        rounds = take(self, turn)
        found.extend([max(sum(done.sample == one.sample for done in rounds) for one in rounds)] if rounds else [])
        return rounds

    monkeypatch.setattr(plan, "LONGEST", 1e6)
    monkeypatch.setattr(Abreast, "take", watched)
    return found


def without(monkeypatch) -> None:
    monkeypatch.setattr(PagedEngine, "abreast", lambda *_: None)


def drawn(model: Model, prompt: str = PROMPT, **settings) -> dict[int, list]:
    """All that is known of the rounds of a run, by sample, but for what they took."""
    rounds = defaultdict(list)
    times = {"draft_seconds": 0.0, "engine_seconds": 0.0, "seconds": 0.0, "late_seconds": None}
    run = model.start(prompt, **SETTINGS | settings)
    for step in run:
        for done in step:
            rounds[done.sample].append(replace(done, **times))
    return dict(rounds)


def unnumbered(rounds: dict[int, list]) -> list[list]:
    """Whatever numbers the samples have."""
    return [[replace(each, sample=0) for each in own] for own in rounds.values()]


def texts(model: Model, **settings) -> list[tuple]:
    found = model.generate(PROMPT, **SETTINGS | settings).choices
    return [(each.tokens, each.text, each.finish_reason, each.logprobs, each.sampling_logprobs) for each in found]


# -------------------------------------------------------------------------------------------- the same rounds


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("law", LAWS)
def test_they_are_the_rounds_that_come_one_by_one(model, taken, monkeypatch, law, n) -> None:
    settings = {"speculative": False, "n": n, **LAWS[law]}
    several = drawn(model, **settings)
    assert len(several) == n
    assert max(taken, default=0) == (abreast.MOST if law in RUN else 0)
    taken.clear()
    without(monkeypatch)
    one_by_one = drawn(model, **settings)
    assert unnumbered(one_by_one) == unnumbered(several)
    assert not taken


@pytest.mark.parametrize("tokens", [1, 2, 4])
@pytest.mark.parametrize("rule", ["coupled", "traversal"])
@pytest.mark.parametrize("law", ["plain", "cut", "edits"])
def test_so_are_those_that_draft(model, taken, monkeypatch, law, rule, tokens) -> None:
    """Chains of a head, by what it remembers."""
    monkeypatch.setattr(seeds.Seeds, "next", lambda _, seed: seed)  # of other rules, which take another one each time
    drafting = CHAINS | {"num_speculative_tokens": tokens, "rejection_sample_method": rule, "draft_siblings": 1}
    settings = {"speculative": drafting, "n": 3, **LAWS[law]}
    several = drawn(model, **settings)
    assert max(taken, default=0) > 4
    taken.clear()
    without(monkeypatch)
    one_by_one = drawn(model, **settings)
    assert unnumbered(one_by_one) == unnumbered(several)
    assert not taken


def test_so_are_those_whose_temperature_is_learnt(model, taken, monkeypatch) -> None:
    """It changes behind the same rounds, however many texts these are learnt from."""
    monkeypatch.setattr(seeds.Seeds, "next", lambda _, seed: seed)
    drafting = CHAINS | {"rejection_sample_method": "traversal", "draft_siblings": 1}
    del drafting["draft_temperature"]
    settings = {"speculative": drafting, "n": 3, "max_tokens": 150}
    several = drawn(model, **settings)
    assert max(taken, default=0) > 4
    without(monkeypatch)
    assert unnumbered(drawn(model, **settings)) == unnumbered(several)


MIXED = [
    {"temperature": 0.6}, {"temperature": 1.3}, {"temperature": 1.0, "top_k": 20},
    {"temperature": 0.9, "repetition_penalty": 1.3, "logit_bias": {5: 2.0}},
]  # fmt: skip
RULES = "traversal", "coupled", "traversal", "coupled"


def mixed(model: Model) -> tuple[list[tuple], list[int]]:
    """Texts of requests whose laws, rules, chains and lengths differ, in one batch."""
    with model.batch(logits_cache_bytes=0) as batch:
        runs = [batch.add(PROMPT, speculative=CHAINS | {"rejection_sample_method": rule, "draft_siblings": 1,
                                                        "num_speculative_tokens": 2 + number % 2},
                          **SETTINGS | law | {"seed": number, "max_tokens": 61 - 9 * number})
                for number, (law, rule) in enumerate(zip(MIXED, RULES, strict=True))]  # fmt: skip
        while batch.step():
            pass
    found = [run.result().choices[0] for run in runs]
    drafted = [run.result().stats.drafted for run in runs]
    return [(each.tokens, each.logprobs, each.sampling_logprobs, each.origins) for each in found], drafted


def test_each_text_has_its_own_law_and_rule(model, taken, monkeypatch) -> None:
    monkeypatch.setattr(seeds.Seeds, "next", lambda _, seed: seed)
    several = mixed(model)
    assert max(taken, default=0) > 4
    without(monkeypatch)
    assert mixed(model) == several


def test_a_call_for_all_texts_takes_no_longer_than_a_drafter_may(model, taken, monkeypatch) -> None:
    """Whatever each text's part of it is."""
    honest = drafted.times_of
    monkeypatch.setattr(drafted, "times_of", lambda moments, *of: honest([*moments[:-1], moments[-1] + 1.0], *of))
    for texts, limit in ((2, 0.9), (5, 0.9), (5, 40.0)):
        result = model.generate(PROMPT, n=texts, speculative=CHAINS | {"draft_timeout": limit}, **SETTINGS)
        assert taken
        assert (result.fallback is None) == (limit > 1.0)
        assert limit > 1.0 or "a call took 1" in result.fallback


def test_one_call_that_takes_longer_is_enough(model, taken, monkeypatch) -> None:
    """Though the ones behind it, of which all is told at once, do not."""
    honest, calls = drafted.times_of, []

    def slow_once(moments, *of):
        calls.append(1)
        return honest([*moments[:-1], moments[-1] + (40.0 if len(calls) == 1 else 0.0)], *of)

    monkeypatch.setattr(drafted, "times_of", slow_once)
    result = model.generate(PROMPT, n=2, speculative=CHAINS | {"draft_timeout": 30.0}, **SETTINGS)
    assert taken[0] > 1
    assert "a call took 40" in result.fallback


@pytest.mark.parametrize("speculative", [None, CHAINS, {"method": "suffix"}])
def test_texts_are_those_without_drafts(model, speculative) -> None:
    for n in (2, 3, 6):
        plain = texts(model, speculative=False, n=n)
        for _ in range(3):
            assert texts(model, speculative=speculative, n=n) == plain


def test_who_has_to_be_asked_by_python_is_looked_at_once(model, taken, monkeypatch) -> None:
    """Nothing is made for rounds that do not come."""
    passes, abreast_of = [], PagedEngine.abreast

    def counted(self, *given):
        passes.append(given)
        return abreast_of(self, *given)

    monkeypatch.setattr(PagedEngine, "abreast", counted)
    drawn(model, speculative={"method": "suffix", "adaptive": False, "num_speculative_tokens": 2}, n=3)
    assert not taken
    assert len(passes) <= 3  # as often as there were other texts


def test_each_is_what_it_is_alone(model, taken) -> None:
    """Requests of several kinds, one of them not for compiled code until it has ended."""
    kinds = [{"temperature": 0.5, "max_tokens": 30}, {"top_k": 3}, {"max_tokens": 5, "logprobs": 2}, {"seed": 9},
             {"temperature": 0, "max_tokens": 61}]  # fmt: skip
    alone = [model.generate(f"{PROMPT} {k}", **SETTINGS | kind, speculative=False) for k, kind in enumerate(kinds)]
    with model.batch(logits_cache_bytes=0) as batch:
        runs = [batch.add(f"{PROMPT} {k}", **SETTINGS | kind, speculative=False) for k, kind in enumerate(kinds)]
        while batch.step():
            pass
    for run, one in zip(runs, alone, strict=True):
        assert run.result().choices[0].tokens == one.choices[0].tokens
        assert run.result().choices[0].logprobs == one.choices[0].logprobs
    assert max(taken) == abreast.MOST


def test_whoever_comes_and_goes_changes_no_text(model, taken) -> None:
    rng = np.random.default_rng(5)
    wanted = {k: model.generate(f"{PROMPT} {k}", **SETTINGS, speculative=False).choices[0].tokens for k in range(12)}
    with model.batch(logits_cache_bytes=0) as batch:
        runs = {}
        for k in range(12):
            runs[k] = batch.add(f"{PROMPT} {k}", **SETTINGS, speculative=False if k % 2 else None)
            for _ in range(rng.integers(0, 4)):
                batch.step()
            if k % 5 == 3:
                runs[k - 1].cancel()
        while batch.step():
            pass
        for k, run in runs.items():
            found = run.result().choices[0].tokens
            assert found == wanted[k][: len(found)]
            assert len(found) == SETTINGS["max_tokens"] or k in (2, 7)
    assert len(taken) > 5


@pytest.mark.parametrize("most", range(1, 20))
def test_no_more_tokens_than_were_asked_for(model, most) -> None:
    rounds = drawn(model, speculative=False, max_tokens=most, n=3)
    for each in rounds.values():
        assert sum(len(done.tokens) for done in each) == most
        assert [done.finish_reason for done in each] == [None] * (most - 1) + ["length"]


def test_each_ends_where_it_is_told_to(model, taken) -> None:
    """By a token or a string, wherever that comes; nothing is written behind it, and the others go on."""
    whole = model.generate(PROMPT, speculative=False, n=3, **SETTINGS).choices
    for end in range(4, 30):
        token = whole[end % 3].tokens[end]
        text = whole[end % 3].text[end : end + 2]
        by_token = model.generate(PROMPT, speculative=False, n=3, stop_token_ids=[token], **SETTINGS).choices
        by_text = model.generate(PROMPT, speculative=False, n=3, stop=[text], **SETTINGS).choices
        for one, first, second in zip(whole, by_token, by_text, strict=True):
            ends = token in one.tokens
            assert first.tokens == (one.tokens[: one.tokens.index(token) + 1] if ends else one.tokens)
            assert first.finish_reason == ("stop" if ends else "length")
            assert second.text == (one.text[: one.text.index(text)] if text in one.text else one.text)
    assert len(taken) > 40


@pytest.mark.parametrize("place", [8, 14, 20, 26])
def test_requests_with_equal_configs_end_apart(model, taken, place) -> None:
    """Each has a controller of its own, which equals the others'."""
    seeds = 1, 2, 3
    free = [model.generate(PROMPT, **SETTINGS | {"seed": seed}, speculative=CHAINS).choices[0] for seed in seeds]
    stop = "".join(free[0].pieces[place : place + 2])
    with model.batch(logits_cache_bytes=0) as batch:
        runs = [
            batch.add(PROMPT, **SETTINGS | {"seed": seed}, stop=[stop] if seed == 1 else [], speculative=dict(CHAINS))
            for seed in seeds
        ]
        for _ in batch.completed():
            pass
    assert len(taken) > 2
    assert [run.error for run in runs] == [None] * 3
    assert [run.result().text for run in runs] == [free[0].text.split(stop)[0], *(each.text for each in free[1:])]


def test_up_to_the_end_of_the_context(model, taken) -> None:
    settings = {"max_tokens": 10_000, "ignore_eos": True, "seed": 1, "n": 2, "speculative": False}
    found = model.generate(PROMPT, **settings).choices
    assert len(model.tokenizer.encode(PROMPT)) + len(found[0].tokens) in (
        CONFIG.context_length, CONFIG.context_length + 1,
    )  # fmt: skip
    assert max(taken) == abreast.MOST


def test_the_first_tokens_wait_for_no_others(model, taken) -> None:
    """There may be fewer: where helpers sleep rounds end, and those are woken."""
    drawn(model, speculative=False, n=2)
    assert all(some <= most for some, most in zip(taken, [4, *[16] * len(taken)], strict=False))
    assert max(taken) == 16


def test_rounds_end_when_time_is_up(model, taken, monkeypatch) -> None:
    monkeypatch.setattr(plan, "LONGEST", 0.0)
    drawn(model, speculative=False, n=2)
    assert set(taken) == {1}


def test_who_reads_one_of_them_along_gets_less_at_once(model, taken, monkeypatch) -> None:
    monkeypatch.setattr(plan, "READ", 0.0)
    with model.batch(logits_cache_bytes=0) as batch:
        first, _ = (batch.add(f"{PROMPT} {k}", speculative=False, **SETTINGS) for k in range(2))
        assert list(first.pieces())
    assert set(taken) == {1}


# -------------------------------------------------------------------------------------------- drafters hear of them


@pytest.mark.parametrize("n", [2, 4])
def test_heads_hear_the_same_and_draft_the_same(model, taken, monkeypatch, n) -> None:
    """Behind rounds in which nobody was asked, of which some miss none and the others the last alone."""
    commit, rounds, heard = HeadState.commit, [], defaultdict(list)

    def told(self, tokens, scores=None):
        states = None if scores is None else scores.hidden
        heard[self.rows].extend(
            (token, None if states is None else states[k].tobytes()) for k, token in enumerate(tokens)
        )
        commit(self, tokens, scores)

    def left() -> int:
        return max(0, 24 - len(rounds))

    def resting(self, samples):
        found = left()
        rounds.append(1)
        return [found] * len(samples)

    def whole() -> tuple:
        rounds.clear()
        heard.clear()
        found = drawn(model, speculative=CHAINS, n=n)
        return unnumbered(found), [*heard.values()]

    monkeypatch.setattr(HeadState, "commit", told)
    monkeypatch.setattr(FixedController, "rest", resting)
    monkeypatch.setattr(FixedController, "stands",
                        lambda _, some: [Stand(left(), rest=left())] * len(some) if left() else None)  # fmt: skip
    several = whole()
    assert sum(taken) > 15
    assert any(done.drafted for done in several[0][0])
    without(monkeypatch)
    one_by_one = whole()
    assert several[0] == one_by_one[0]
    for some, others in zip(several[1], one_by_one[1], strict=True):
        assert [token for token, _ in some] == [token for token, _ in others]
        known = [(k, one[1], other[1]) for k, (one, other) in enumerate(zip(some, others, strict=True))
                 if one[1] is not None and other[1] is not None]  # fmt: skip
        assert known
        assert all(one == other for _, one, other in known)
    assert all(state is not None for one in several[1][:2] for _, state in one)


# -------------------------------------------------------------------------------------------- what breaks


def raises(monkeypatch, part, name: str, at: int, error: type[BaseException], behind: bool) -> None:
    act, calls = getattr(part, name), []

    def broken(self, *given, **more):
        calls.append(1)
        found = act(self, *given, **more) if behind else None
        if len(calls) == at:
            raise error("out of order")
        return found if behind else act(self, *given, **more)

    monkeypatch.setattr(part, name, broken)


@pytest.mark.parametrize("at", [1, 3, 8, 20])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("speculative", [False, CHAINS], ids=["plain", "chains"])
@pytest.mark.parametrize(("part", "name"), [
    (Side, "enter"), (Hearers, "follow"), (Side, "round"), (PagedAbreast, "end"), (NoState, "commit"),
    (ChainJob, "end"), (TextReader, "push"), (PayoffController, "observe"), (FixedController, "rest"),
    (Jobs, "collect"),
])  # fmt: skip
def test_whatever_stops_them_texts_keep_what_they_have(
    model, taken, monkeypatch, part, name, error, at, speculative
) -> None:
    """Before or behind it; and an interruption is one, whatever it breaks off."""
    plain = [each.tokens for each in model.generate(PROMPT, speculative=False, n=3, **SETTINGS).choices]
    for behind in (False, True):
        with monkeypatch.context() as patched:
            raises(patched, part, name, at, error, behind)
            run = model.start(PROMPT, speculative=speculative, n=3, **SETTINGS)
            with suppress(error, TruedrawError):
                list(run)
        found = run.result().choices
        assert [each.tokens for each in found] == [tokens[: len(one.tokens)]
                                                   for tokens, one in zip(plain, found, strict=True)]  # fmt: skip
        for each in found:
            if error is KeyboardInterrupt and part is not TextReader:
                assert each.text == model.tokenizer.decode(each.tokens) or not each.text.isascii()
    assert [each.tokens for each in model.generate(PROMPT, speculative=False, n=3, **SETTINGS).choices] == plain


def test_an_interruption_behind_drafts_is_one(model, taken, monkeypatch) -> None:
    raises(monkeypatch, Side, "round", 12, KeyboardInterrupt, behind=True)
    with pytest.raises(KeyboardInterrupt):
        list(model.start(PROMPT, speculative=CHAINS, n=3, **SETTINGS))


def test_of_texts_that_have_ended_nothing_stays(model, taken) -> None:
    """However their last rounds came; who comes behind them is alone."""
    with model.batch(logits_cache_bytes=0) as batch:
        long = batch.add(PROMPT, **SETTINGS | {"max_tokens": 400}, speculative=False)
        short = batch.add(PROMPT, n=2, **SETTINGS | {"max_tokens": 30}, speculative=CHAINS)
        while not short.ended:
            batch.step()
        batch.step()
        gc.collect()
        assert sum(type(each) is Sample for each in gc.get_objects()) == 1
        long.cancel()
    assert taken


def test_drafters_hear_the_end_of_a_text(model, taken, monkeypatch) -> None:
    """Others may read what it wrote."""
    heard, commit = defaultdict(list), SuffixState.commit

    def told(self, tokens, scores=None):
        heard[self].extend(tokens)
        commit(self, tokens, scores)

    monkeypatch.setattr(SuffixState, "commit", told)
    whole = model.generate(PROMPT, speculative=False, n=3, **SETTINGS).choices
    for speculative in ({"method": "suffix"}, None):
        taken.clear()
        for end in range(20, 34):
            heard.clear()
            text = whole[end % 3].text[end : end + 2]
            found = model.generate(PROMPT, speculative=speculative, n=3, stop=[text], **SETTINGS).choices
            assert sorted(map(tuple, heard.values())) == sorted(each.tokens for each in found)
        assert taken


def test_controllers_are_asked_in_each_round(model, taken, monkeypatch) -> None:
    """Whoever has ended meanwhile."""
    asked, rest, observe = [], PayoffController.rest, PayoffController.observe

    def resting(self, samples):
        asked.append(sorted(samples))
        return rest(self, samples)

    def observing(self, rounds):
        if asked:
            assert sorted(done.sample for done in rounds) == asked.pop()
        observe(self, rounds)

    monkeypatch.setattr(PayoffController, "rest", resting)
    whole = model.generate(PROMPT, speculative=False, n=3, **SETTINGS).choices
    monkeypatch.setattr(PayoffController, "observe", observing)
    for end in range(10, 30):
        text = whole[end % 3].text[end : end + 2]
        model.generate(PROMPT, n=3, stop=[text], **SETTINGS | {"max_tokens": 60})
        assert not asked


def test_a_job_that_fails_ends_alone(model, taken, monkeypatch) -> None:
    wanted = [model.generate(f"{PROMPT} {k}", **SETTINGS, speculative=False).choices[0].tokens for k in range(3)]
    enter = Side.enter

    def broken(self, *given):
        if self.sample.number == 1 and len(self.sample.sequence.tokens) > 20:
            raise RuntimeError("out of order")
        enter(self, *given)

    monkeypatch.setattr(Side, "enter", broken)
    with model.batch(logits_cache_bytes=0) as batch:
        runs = [batch.add(f"{PROMPT} {k}", **SETTINGS, speculative=False) for k in range(3)]
        while batch.step():
            pass
    assert [run.error is None for run in runs] == [True, False, True]
    for run, tokens in zip(runs, wanted, strict=True):
        found = run.result().choices[0].tokens
        assert found == tokens[: len(found)]
        assert run.error is not None or found == tokens
    assert taken


def test_where_pages_are_short_rounds_come_one_by_one(model, taken, monkeypatch) -> None:
    plain = texts(model, speculative=False, n=3)
    taken.clear()
    monkeypatch.setattr("truedraw.engine.cpu.paged_engine.has_pages", lambda *_: False)
    assert texts(model, speculative=False, n=3) == plain
    assert not taken


# -------------------------------------------------------------------------------------------- the engine


def test_its_rows_have_the_bits_of_other_passes(model) -> None:
    """Of texts of several lengths, some with pages in common; behind it all are computed but for their last tokens."""
    from truedraw.generate.at_once.plainly_loop import run
    from truedraw.generate.means import Means
    from truedraw.sampling.transform import Transform
    from truedraw.verify.fused.plain_rounds import Asked

    engine, rng = model.engine, np.random.default_rng(1)
    prompts = [rng.integers(0, 90, size=size).tolist() for size in (3, 40, 15, 40)]
    texts = [engine.open(prompt, alone=True) for prompt in prompts]
    engine.forward([Work(text) for text in texts])
    texts += engine.fork(texts[1], 2)
    others = [engine.open(text.tokens, alone=True) for text in texts]
    engine.forward([Work(text) for text in others])
    passes, rounds = engine.abreast(texts, [20] * len(texts), [0] * len(texts)), 20
    job, means = passes.job, Means(engine.crew.board)
    asked = [Asked(row, Transform(), (k, 7, 0), len(text.tokens), True) for k, (row, text)
             in enumerate(zip(job.logits, texts, strict=True))]  # fmt: skip
    draws = means.plain_rounds.kept(asked)
    told, moments = np.zeros((rounds, len(texts), 3)), np.zeros((rounds, 3), np.int64)
    shown = np.zeros((rounds, *job.hidden.shape), np.float32)
    limits = rounds, 10**15, np.full((len(texts), 1), -1)
    target = job.job.addresses, job.counters, job.ids, job.positions, job.past
    drawing = draws.job.addresses, draws.counters, draws.names, draws.told
    engine.crew.wake()
    count = run(engine.crew.board, (target, drawing, limits, (told, moments), (job.hidden, shown)))
    assert 1 <= count <= rounds
    kept = told[:count, :, 0].astype(int)
    for number in range(count):
        scores = engine.forward([Work(text) for text in others])
        for k, (text, scored) in enumerate(zip(others, scores, strict=True)):
            assert np.array_equal(shown[number, k], scored.hidden[0])
            text.commit([int(kept[number, k])])
    passes.end(kept.T.tolist())
    assert [text.tokens for text in texts] == [text.tokens for text in others]
    assert all(text.num_uncached == 1 for text in texts)
    found = [scored.logits.copy() for scored in engine.forward([Work(text) for text in texts])]
    for one, other in zip(found, engine.forward([Work(text) for text in others]), strict=True):
        assert np.array_equal(one, other.logits)
    for text in (*texts, *others):
        text.close()


def test_passes_that_are_dropped_change_nothing(model) -> None:
    engine = model.engine
    texts = [engine.open(model.tokenizer.encode(f"{PROMPT} {k}")) for k in range(3)]
    before = [scored.logits.copy() for scored in engine.forward([Work(text) for text in texts])]
    assert engine.abreast(texts, [4] * 3, [0] * 3) is not None
    after = engine.forward([Work(text) for text in texts])
    assert all(np.array_equal(one, other.logits) for one, other in zip(before, after, strict=True))
    assert engine.abreast(texts, [4, CONFIG.context_length, 4], [0] * 3) is None
    fresh = engine.open([1, 2, 3], alone=True)
    assert engine.abreast([*texts, fresh], [2] * 4, [0] * 4) is None
    for text in (*texts, fresh):
        text.close()
