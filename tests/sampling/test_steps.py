"""Every step against its definition in plain Python: random rows, ties, impossible tokens, extreme values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given as random
from hypothesis import settings
from hypothesis import strategies as st

from law_definitions import ORDERS, Definition
from truedraw.errors import BadParameter
from truedraw.protocol import Floats, Purpose
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams, sampling_params
from truedraw.sampling.step import Opening
from truedraw.sampling.truncate import top_k, top_p

CLOSE = 1e-9
VOCAB = 7
NUDGES = (0.0, -CLOSE, CLOSE)
LEAST = 1e-6  # the definition ranks by p, where two smaller logits may look equal

numbers = st.floats(-30, 30, width=32).filter(lambda z: z == 0 or abs(z) >= LEAST)
logits = st.lists(
    st.one_of(st.sampled_from([-math.inf, -3.0, 0.0, 0.0, 1.5, 1.5]), numbers), min_size=VOCAB, max_size=VOCAB
)
texts = st.lists(st.integers(0, VOCAB - 1), max_size=9)
parts = st.floats(0.001, 1.0)
temperatures = st.one_of(st.just(0.0), st.floats(0.05, 2.0))

SINGLE = {
    "temperature": st.sampled_from([0.0, 0.1, 0.7, 1.9, 50.0]),
    "top_k": st.integers(-1, VOCAB + 1),
    "top_p": parts,
    "min_p": st.floats(0.0, 1.0),
    "typical_p": parts,
    "epsilon_cutoff": st.floats(0.0, 1.0),
    "eta_cutoff": st.floats(0.0, 1.0),
    "top_n_sigma": st.floats(0.01, 5.0),
    "repetition_penalty": st.floats(0.3, 3.0),
    "presence_penalty": st.floats(-2, 2),
    "frequency_penalty": st.floats(-2, 2),
    "no_repeat_ngram": st.integers(0, 4),
    "logit_bias": st.dictionaries(st.integers(0, VOCAB - 1), st.floats(-100, 100)),
    "bad_words": st.lists(st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=3), max_size=4),
    "allowed_token_ids": st.lists(st.integers(0, VOCAB - 1), min_size=1),
    "min_tokens": st.integers(0, 5),
    "schedule": st.just({"temperature": [[1, 0.5], [4, 2.0]], "top_p": [[0, 0.4], [5, 0.9]], "top_k": [[2, 6], [6, 2]],
                         "min_p": [[3, 0.2]], "top_n_sigma": [[0, 1], [9, 3]]}),
}  # fmt: skip


class Coin:
    """Randomness of one known outcome."""

    def __init__(self, falls: bool) -> None:
        self.falls, self.names = falls, []

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        self.names.append((p, q, purpose, position, node))
        return self.falls


def law(given: Mapping[str, Any], prompt: Sequence[int], output: Sequence[int], ends=(), coin=False) -> SamplingLaw:
    opening = Opening(tuple(prompt), VOCAB, tuple(ends), Coin(coin))
    here = SamplingLaw(sampling_params(given), opening)
    for token in output:
        here = here.after(token)
    return here


def check(given, row, prompt=(), output=(), ends=(), coin=False) -> None:
    """p is the definition's; a threshold that a value just meets may round to either side."""
    if max(row) == -math.inf:
        return
    wanted = []
    for nudge in NUDGES:
        definition = Definition(given, prompt, output, ends, mu=10.0, coin=coin, nudge=nudge)
        if max(definition.banned(list(row))) == -math.inf:
            with pytest.raises(BadParameter, match="no token may follow"):
                law(given, prompt, output, ends, coin)(np.array(row, dtype=np.float32))
            return
        wanted.append(definition.p(np.float32(row).astype(float).tolist()))
    p = law(given, prompt, output, ends, coin)(np.array(row, dtype=np.float32))
    assert p.sum() == pytest.approx(1)
    assert min(np.abs(p - each).max() for each in wanted) < CLOSE


@pytest.mark.parametrize("name", SINGLE)
def test_a_step_is_its_definition(name: str) -> None:
    @settings(max_examples=150, deadline=None)
    @random(logits, SINGLE[name], texts, texts)
    def examples(row, value, prompt, output) -> None:
        check({name: value}, row, [0, *prompt], output, ends=(2, 5))

    examples()


@settings(max_examples=200, deadline=None)
@random(logits, st.floats(0.01, 0.6), st.booleans(), texts)
def test_xtc_is_its_definition(row, threshold, coin, output) -> None:
    check({"xtc_probability": 0.5, "xtc_threshold": threshold}, row, [1], output, coin=coin)


@settings(max_examples=200, deadline=None)
@random(logits, st.floats(0.1, 2.0), temperatures, st.floats(0.2, 3.0), st.sampled_from(list(ORDERS)))
def test_dynamic_temperature_is_its_definition(row, temperature, span, exponent, order) -> None:
    given = {"temperature": temperature, "dynatemp_range": span, "sampler_order": order, "top_k": 4}
    check(given | ({"dynatemp_exponent": exponent} if span else {}), row)


@settings(max_examples=200, deadline=None)
@random(logits, st.floats(0.1, 4.0))
def test_the_first_row_of_mirostat_keeps_what_is_below_twice_its_target(row, tau) -> None:
    if max(row) > -math.inf:
        p = law({"mirostat": 2, "mirostat_tau": tau}, (0,), ())(np.array(row, dtype=np.float32))
        definitions = [Definition({"mirostat": 2}, mu=2 * tau, nudge=n).p(np.float32(row).tolist()) for n in NUDGES]
        assert min(np.abs(p - each).max() for each in definitions) < CLOSE


@pytest.mark.parametrize("order", [*ORDERS, ("top_p", "temperature", "top_k", "xtc", "min_p", "eta_cutoff")])
@pytest.mark.parametrize("seed", range(40))
def test_all_together_in_every_order(order, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = {
        "temperature": rng.choice([0.5, 1.0, 1.4]), "top_k": int(rng.integers(3, 7)), "top_p": rng.uniform(0.5, 0.99),
        "min_p": rng.uniform(0.01, 0.1), "eta_cutoff": rng.uniform(0.001, 0.1), "xtc_probability": 0.5,
        "repetition_penalty": rng.uniform(0.8, 1.6), "frequency_penalty": rng.uniform(-1, 1), "presence_penalty": 0.3,
        "logit_bias": {int(rng.integers(VOCAB)): 1.5}, "no_repeat_ngram": 3, "bad_words": [[1], [2, 3]],
        "dynatemp_range": rng.choice([0.0, 0.4]), "sampler_order": order,
    }  # fmt: skip
    if isinstance(order, str):
        given |= {"typical_p": rng.uniform(0.6, 0.99), "epsilon_cutoff": 0.002, "top_n_sigma": rng.uniform(0.8, 2)}
    prompt, output = rng.integers(VOCAB, size=5).tolist(), rng.integers(VOCAB, size=6).tolist()
    check(given, rng.normal(0, 2, VOCAB).tolist(), prompt, output, coin=bool(seed % 2))


def test_orders_that_differ_in_where_min_p_stands_keep_other_tokens() -> None:
    row = np.log(np.array([0.4, 0.25, 0.15, 0.1, 0.1], dtype=np.float32))
    laws = (law({"min_p": 0.3, "top_p": 0.7, "sampler_order": order}, (), ()) for order in ("vllm", "huggingface"))
    assert [np.count_nonzero(each(row)) for each in laws] == [2, 3]


def test_mirostat_carries_its_surprise_along_the_text() -> None:
    given, mu = {"mirostat": 2, "mirostat_tau": 1.2, "mirostat_eta": 0.9, "temperature": 1.3}, 2.4
    rng, here = np.random.default_rng(0), law({"mirostat": 2, **given}, (0,), ())
    for _ in range(60):
        row = rng.normal(0, 2, VOCAB).astype(np.float32)
        p, wanted = here(row), Definition(given, mu=mu).p(row.tolist())
        assert np.abs(p - wanted).max() < CLOSE
        token = int(rng.choice(VOCAB, p=p))
        here, mu = here.after(token, p), mu - 0.9 * (-math.log2(wanted[token]) - 1.2)


def test_mirostat_survives_a_draft_that_cannot_stand() -> None:
    here = law({"mirostat": 2}, (0,), ())
    row = np.zeros(VOCAB, dtype=np.float32)
    impossible = np.eye(VOCAB)[0]
    for token in (3, 4, 0, 1):
        here = here.after(token, impossible)
        assert here(row).tolist() == impossible.tolist()


def test_the_coin_is_named_by_its_position_alone() -> None:
    coin = Coin(True)
    here = SamplingLaw(SamplingParams(xtc_probability=0.3), Opening((5, 5, 5), VOCAB, (), coin))
    row = np.zeros(VOCAB, dtype=np.float32)
    here(row)
    here.after(1)(row)
    here.after(2)(row)
    here(row)
    assert coin.names == [(0.3, 1.0, Purpose.XTC, position, 0) for position in (3, 4, 4, 3)]


@pytest.mark.parametrize("row", [[1e30, 0, -1e30, -1e30, 2, 2, 2], [-1e-40, 0, 1e-40, 0, 0, 0, -np.inf]])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("temperature", [0.0, 1e-300, 0.01, 1e6])
def test_extreme_rows_have_a_law_under_everything(row, order, temperature) -> None:
    given = {"repetition_penalty": 100, "frequency_penalty": 2, "presence_penalty": -2, "logit_bias": {1: 1e300},
             "temperature": temperature, "dynatemp_range": 0.5, "top_n_sigma": 1e-9, "epsilon_cutoff": 1.0,
             "eta_cutoff": 1.0, "typical_p": 1e-9, "top_p": 1e-9, "min_p": 1.0, "xtc_probability": 1.0,
             "sampler_order": order}  # fmt: skip
    p = law(given, (0, 1, 2), (0, 1, 1), coin=True)(np.array(row, dtype=np.float32))
    assert p.sum() == pytest.approx(1)
    assert (p >= 0).all()


def unindexed(given, prompt: Sequence[int], output: Sequence[int]) -> Floats:
    return np.array(Definition(given, prompt, output).p([0.1 * i for i in range(VOCAB)]))


@pytest.mark.parametrize("given", [
    {"repetition_penalty": 1.3}, {"frequency_penalty": 0.01, "presence_penalty": 0.4}, {"no_repeat_ngram": 6},
    {"no_repeat_ngram": 4}, {"bad_words": [[3], [4, 4, 5], [1, 2]]}, {"bad_words": [[6, 6, 6, 5]]},
], ids=str)  # fmt: skip
def test_a_long_history_and_its_branches_are_those_of_the_text(given) -> None:
    """Past every threshold at which the newest tokens are folded away; a branch that is left changes nothing."""
    rng, text = np.random.default_rng(3), [0, 1]
    here = law(given, text, ())
    row = np.array([0.1 * i for i in range(VOCAB)])
    for step in range(400):
        if step % 7 == 0:
            branch, tried = here, []
            for token in rng.integers(VOCAB, size=90 if step % 70 == 0 else 3).tolist():
                branch, tried = branch.after(token), [*tried, token]
            assert np.abs(branch(row) - unindexed(given, (0, 1), [*text[2:], *tried])).max() < CLOSE
        p = here(row)
        assert np.abs(p - unindexed(given, (0, 1), text[2:])).max() < CLOSE
        text.append(int(rng.choice(VOCAB, p=p)))
        here = here.after(text[-1])


def test_an_old_law_stays_what_it_was() -> None:
    given = {"repetition_penalty": 1.5, "frequency_penalty": 0.5, "no_repeat_ngram": 2, "bad_words": [[1, 2]],
             "schedule": {"temperature": [[0, 1.5], [10, 0.5]]}}  # fmt: skip
    row, here = np.linspace(-1, 1, VOCAB), law(given, (0, 1), (3,))
    before, further = here(row), here
    for token in (0, 3, 5) * 60:
        further = further.after(token)
    assert (here(row) == before).all()
    assert (law(given, (0, 1), (3,))(row) == before).all()


def test_the_model_row_is_not_written() -> None:
    row = np.linspace(-1, 1, VOCAB)
    row.flags.writeable = False
    law({"repetition_penalty": 2, "top_k": 2, "top_n_sigma": 1, "sampler_order": "llama.cpp"}, (1,), (2,))(row)


def test_what_is_off_is_not_there() -> None:
    assert law({}, (0,), ())._steps == ()
    still = law({"temperature": 0.5, "top_p": 0.9}, (0,), ())
    assert len(still._steps) == 2
    assert still.after(3) is still


def test_nothing_left_is_an_error_that_names_the_parameters() -> None:
    given = {"allowed_token_ids": [2, 4], "bad_words": [[4]], "min_tokens": 1}
    with pytest.raises(BadParameter, match="allowed_token_ids, min_tokens, bad_words"):
        law(given, (0,), (), ends=(2,))(np.zeros(VOCAB))
    impossible = np.array([0.0, *[-np.inf] * (VOCAB - 1)])
    with pytest.raises(BadParameter, match="bad_words and the model"):
        law({"bad_words": [[0]]}, (0,), ())(impossible)


@pytest.mark.parametrize(("name", "value"), [
    ("logit_bias", {VOCAB: 1.0}), ("bad_words", [[0, VOCAB]]), ("allowed_token_ids", [0, 99]),
])  # fmt: skip
def test_ids_outside_the_vocabulary_are_refused(name, value) -> None:
    with pytest.raises(BadParameter, match=f"{name}.*0 to {VOCAB - 1}"):
        law({name: value}, (0,), ())


def test_a_law_that_looks_at_the_text_must_be_told_of_it() -> None:
    with pytest.raises(ValueError, match="vocab_size"):
        SamplingLaw(SamplingParams(repetition_penalty=1.1))
    with pytest.raises(ValueError, match="randomness"):
        SamplingLaw(SamplingParams(xtc_probability=0.1), Opening((0,), VOCAB))


@pytest.mark.parametrize("word", [[4], [3, 4], [2, 3, 4], [1, 2, 3, 4]], ids=len)
def test_a_word_may_begin_in_the_prompt(word) -> None:
    for others in ([], [[6, 6]]):
        given = {"bad_words": [word, *others]}
        for prompt, output in (([1, 2, 3], ()), ([1], (2, 3)), ([5, 1, 2, 3], ())):
            assert np.flatnonzero(law(given, prompt, output)(np.zeros(VOCAB)) == 0).tolist() == [4]


def test_words_are_forbidden_with_and_without_the_space_before() -> None:
    ids = {"cat": [1], " cat": [2, 3]}
    opening = Opening((0,), VOCAB, encode=lambda text: ids[text])
    here = SamplingLaw(SamplingParams(bad_words=(" cat",)), opening)
    assert np.flatnonzero(here(np.zeros(VOCAB)) == 0).tolist() == [1]
    assert np.flatnonzero(here.after(2)(np.zeros(VOCAB)) == 0).tolist() == [1, 3]
    with pytest.raises(BadParameter, match="no tokens"):
        SamplingLaw(SamplingParams(bad_words=("cat",)), Opening((0,), VOCAB, encode=lambda text: []))
    with pytest.raises(BadParameter, match="tokenizer"):
        SamplingLaw(SamplingParams(bad_words=("cat",)), Opening((0,), VOCAB))


def test_where_no_token_may_follow_a_contrast_is_named_if_it_may_be_one() -> None:
    only = law({"allowed_token_ids": [2], "no_repeat_ngram": 1}, [0], [2])
    for other, more in ((2.0, "Allow more"), (-math.inf, "a smaller contrastive_alpha")):
        with pytest.raises(BadParameter, match="no token may follow") as told:
            only(np.array([other, *[1.0] * (VOCAB - 1)]))
        assert str(told.value).endswith(more)


def test_masks_of_arrays_of_any_kind() -> None:
    p = np.array([0.1, 0.0, 0.4, 0.0, 0.2, 0.0, 0.3, 0.0])
    for array in (p[::2], p[::2].astype(np.float32), p[[0, 2, 4, 6]][::-1][::-1]):
        assert top_k(array, 2).tolist() == top_p(array, 0.65).tolist() == [False, True, False, True]
    assert top_k(np.array([3, 1, 2]), 2).tolist() == [True, False, True]
