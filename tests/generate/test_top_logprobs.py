"""The likeliest tokens beside each emitted one: the model's own, whichever way the token came."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer as Raw
from tokenizers import decoders
from tokenizers import models as kinds

from generate.paged_table import toy
from truedraw import Model, load
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import TruedrawError
from truedraw.generate import rows
from truedraw.generate.contrast import contrast
from truedraw.generate.seeds import Seeds
from truedraw.models.toy import END, TOY_TABLE, toy_text
from truedraw.stats.evalue import ExactnessWatch
from truedraw.text import Tokenizer

PROMPT = "the cat sat ran dog sat ran"
LONG = {"max_tokens": 40, "ignore_eos": True}
OFTEN = {"adaptive": False, "num_speculative_tokens": 5}
TREE = {"method": "model", "model": "tabular", "draft_siblings": 3, "draft_temperature": 1.4, **OFTEN}
DRAFTS = {
    "lookup": {"prompt_lookup_min": 1, "method": "ngram", **OFTEN},
    "suffix tree": {"method": "suffix", "suffix_decoding_tree": True, **OFTEN},
    "recycle": {"method": "recycle", **OFTEN},
    "model": {"method": "model", "model": "tabular", "draft_temperature": 2.0, **OFTEN},
    "tree of siblings": TREE,
    "token-wise": {**TREE, "draft_siblings": None, "rejection_sample_method": "token"},
    "traversal": {**TREE, "rejection_sample_method": "traversal"},
}
LAWS = {
    "as it is": {},
    "greedy": {"temperature": 0.0},
    "cut": {"temperature": 0.7, "top_p": 0.8},
    "penalties": {"repetition_penalty": 1.4, "frequency_penalty": 0.3},
    "only some": {"allowed_token_ids": [1, 2, 3, 4], "temperature": 1.5},
}


def expected(last: int, count: int) -> list[tuple[int, float]]:
    """By the toy's table, after a token."""
    law = np.array(TOY_TABLE[(last,)], np.float64)
    order = sorted(np.flatnonzero(law), key=lambda token: (-law[token], token))
    return [(int(token), float(np.log(law[token]))) for token in order[:count]]


def check(prompt_tokens, choice, count: int) -> None:
    """One choice of the toy against its table."""
    assert len(choice.top_logprobs) == len(choice.tokens) == len(choice.logprobs)
    for last, token, logprob, top in zip(
        (prompt_tokens[-1], *choice.tokens), choice.tokens, choice.logprobs, choice.top_logprobs, strict=False
    ):
        wanted = expected(last, count)
        assert [each for each, _ in top] == [each for each, _ in wanted]
        assert [log for _, log in top] == pytest.approx([log for _, log in wanted], abs=1e-12)
        assert dict(top).get(token, logprob) == logprob  # the same bits
        assert all(log <= 0.0 for _, log in top)


def told(result) -> list[tuple]:
    return [(choice.tokens, choice.logprobs, choice.top_logprobs) for choice in result.choices]


@pytest.fixture(scope="module")
def model() -> Model:
    with load("tabular") as loaded:
        yield loaded


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", DRAFTS)
def test_they_are_the_models_own_with_drafts_and_without(model: Model, name: str, law: str) -> None:
    settings = {"seed": 5, "n": 3, **LONG, **LAWS[law]}
    plain = model.generate(PROMPT, logprobs=3, speculative=False, **settings)
    fast = model.generate(PROMPT, logprobs=3, speculative=DRAFTS[name], **settings)
    assert fast.stats.accepted > 0
    for result in (plain, fast):
        for choice in result.choices:
            check(result.prompt_tokens, choice, 3)
    if "rejection_sample_method" not in DRAFTS[name]:
        assert told(fast) == told(plain)


def test_every_origin_has_them(model: Model) -> None:
    seen = set()
    for name in ("lookup", "tree of siblings"):
        result = model.generate(PROMPT, seed=1, n=4, logprobs=20, speculative=DRAFTS[name], **LONG)
        for choice in result.choices:
            check(result.prompt_tokens, choice, 20)
            seen |= {*choice.origins}
    assert seen >= {"draft", "residual", "bonus"}
    forced = model.generate("the", regex=" cat sat", seed=1, logprobs=2)
    assert set(forced.choices[0].origins) == {"forced"}
    check(forced.prompt_tokens, forced.choices[0], 2)


def test_equally_likely_tokens_come_by_their_ids(model: Model) -> None:
    top = model.generate("the cat sat", seed=1, max_tokens=1, logprobs=4).choices[0].top_logprobs[0]
    assert [token for token, _ in top] == [END, 4, 1, 2]
    assert top[2][1] == top[3][1]


def test_the_last_token_has_them_too(model: Model) -> None:
    stopped = model.generate(PROMPT, seed=3, logprobs=2, max_tokens=200, speculative=DRAFTS["model"])
    assert stopped.choices[0].tokens[-1] == END
    free = model.generate(PROMPT, seed=5, **LONG).text
    by_text = model.generate(PROMPT, seed=5, logprobs=2, stop=free[40:49], speculative=DRAFTS["model"], **LONG)
    for result in (stopped, by_text):
        assert result.choices[0].finish_reason == "stop"
        check(result.prompt_tokens, result.choices[0], 2)


def test_none_changes_nothing_and_looks_at_nothing(model: Model, monkeypatch) -> None:
    settings = {"seed": 5, "n": 2, **LONG}
    asked = model.generate(PROMPT, logprobs=5, **settings)
    monkeypatch.setattr(rows, "likeliest", None)
    without, none = model.generate(PROMPT, **settings), model.generate(PROMPT, logprobs=0, **settings)
    for one, other, empty in zip(asked.choices, without.choices, none.choices, strict=True):
        assert (one.tokens, one.logprobs, one.sampling_logprobs) == (
            other.tokens, other.logprobs, other.sampling_logprobs,
        )  # fmt: skip
        assert other.top_logprobs is None
        assert "top_logprobs" not in other.to_dict()
        assert empty.top_logprobs == ((),) * 40
        assert empty.to_dict()["top_logprobs"] == [[]] * 40
    with pytest.raises(TruedrawError, match="TypeError"):
        model.generate(PROMPT, logprobs=1, **settings)


def test_fewer_of_them_are_the_first_of_more(model: Model) -> None:
    settings = {"seed": 7, **LONG}
    most = model.generate(PROMPT, logprobs=20, **settings).choices[0]
    few = model.generate(PROMPT, logprobs=2, **settings).choices[0]
    assert few.top_logprobs == tuple(top[:2] for top in most.top_logprobs)


def test_the_best_of_some_keep_their_own(model: Model) -> None:
    result = model.generate(PROMPT, seed=2, n=2, best_of=6, logprobs=2, max_tokens=9)
    for choice in result.choices:
        check(result.prompt_tokens, choice, 2)


def test_a_run_that_goes_on_has_them_so_far(model: Model) -> None:
    run = model.start(PROMPT, seed=2, logprobs=2, speculative=DRAFTS["model"], **LONG)
    for _ in zip(range(4), run, strict=False):
        check(run.result().prompt_tokens, run.result().choices[0], 2)
    run.close()
    assert run.result().choices[0].finish_reason == "interrupted"


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_a_batch_and_a_cache_of_logits_change_no_bit(cache_bytes: int) -> None:
    wanted = [
        (prompt, {"seed": seed, "n": 1 + seed % 3, "logprobs": count, "max_tokens": 4 + 5 * seed, "temperature": heat})
        for seed, (prompt, count, heat) in enumerate(
            [("the", 3, 1), ("the", None, 1), ("the", 1, 0.5), ("the cat", 0, 1), ("the cat", 20, 1.6), ("the", 2, 0)]
        )
    ]
    model = toy()
    with model.batch(max_running=4, logits_cache_bytes=cache_bytes) as batch:
        runs = [batch.add(prompt, ignore_eos=True, speculative=DRAFTS["lookup"] if i % 2 else False, **settings)
                for i, (prompt, settings) in enumerate(wanted)]  # fmt: skip
        for _ in batch.completed():
            pass
        assert (batch.logits_cache_use.hits > 10) == (cache_bytes > 0)
    for run, (prompt, settings) in zip(runs, wanted, strict=True):
        alone = toy().generate(prompt, ignore_eos=True, speculative=False, **settings)
        assert told(run.result()) == told(alone)
        if settings["logprobs"] is not None:
            for choice in run.result().choices:
                check(alone.prompt_tokens, choice, settings["logprobs"])


def test_a_contrast_tells_its_own_law_and_nothing_it_rules_out() -> None:
    text = toy_text()
    tokenizer = Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids)
    worse = {context: 0.5 * np.array(law) + 0.5 / 6 for context, law in TOY_TABLE.items()}
    amateur = Model("amateur", TabularEngine(worse), tokenizer)
    with contrast(Model("expert", TabularEngine(TOY_TABLE), tokenizer), amateur, alpha=0.3, beta=0.4) as both:
        result = both.generate(PROMPT, seed=3, logprobs=6, **LONG)
        (choice,) = result.choices
    for last, token, logprob, top in zip(
        (result.prompt_tokens[-1], *choice.tokens), choice.tokens, choice.logprobs, choice.top_logprobs, strict=False
    ):
        ours, theirs = np.array(TOY_TABLE[(last,)]), worse[(last,)]
        scores = np.where(ours >= 0.3 * ours.max(), ours**1.4 / theirs**0.4, 0.0)
        law = scores / scores.sum()
        assert [each for each, _ in top] == sorted(np.flatnonzero(law), key=lambda each: (-law[each], each))
        assert np.exp([log for _, log in top]) == pytest.approx([law[each] for each, _ in top], abs=1e-12)
        assert dict(top)[token] == logprob


def test_an_observer_sees_what_it_saw_before(model: Model) -> None:
    watches = [ExactnessWatch(), ExactnessWatch()]
    spec = {**DRAFTS["model"], "rejection_sample_method": "token"}
    for watch, count in zip(watches, (None, 20), strict=True):
        model.drafts.seeds = Seeds()  # else the second run takes noise of its own
        run = model.start(PROMPT, seed=4, logprobs=count, observer=watch, speculative=spec, **LONG)
        for _ in run:
            pass
    found = [(watch.evidence.count, watch.evidence.value, watch.evidence.largest) for watch in watches]
    assert found[0] == found[1]
    assert found[0][0] > 10


BYTES = {"a": b"a", "Ã": b"\xc3", "©": b"\xa9", "ï¿½": b"\xef\xbf\xbd", "ðŁĳ©": "👩".encode(), "ðŁĳ": b"\xf0\x9f\x91",
         "<|end|>": b"<|end|>"}  # fmt: skip
"""Tokens of a byte-level vocabulary: whole characters, parts of some, and the sign that stands for what is none."""


def letters() -> Model:
    raw = Raw(kinds.WordLevel({token: i for i, token in enumerate(BYTES)}, unk_token="a"))
    raw.decoder = decoders.ByteLevel()
    table = {(): np.arange(8.0) + 1, **{(token,): np.arange(8.0)[::-1] + token for token in range(8)}}
    laws = {context: tuple(row / row.sum()) for context, row in table.items()}
    return Model("letters", TabularEngine(laws), Tokenizer(raw))


def test_parts_of_characters_lose_nothing_in_json() -> None:
    with letters() as model:
        (choice,) = model.generate([0], seed=1, max_tokens=30, logprobs=20).choices
    found = json.loads(json.dumps(choice.to_dict(), allow_nan=False))["top_logprobs"]
    assert [[(each["token_id"], each["logprob"]) for each in top] for top in found] == [
        [*top] for top in choice.top_logprobs
    ]
    seen = {each["token_id"]: each for top in found for each in top}
    for token, data in enumerate([*BYTES.values(), b""]):  # the model has one row more than there are tokens
        each = seen[token]
        assert bytes(each["bytes"] if "bytes" in each else each["text"].encode()) == data
    assert {token for token, each in seen.items() if "bytes" in each} == {1, 2, 5}


def test_as_a_table(model: Model) -> None:
    pytest.importorskip("pandas")
    result = model.generate(PROMPT, seed=2, n=2, logprobs=2, max_tokens=4, ignore_eos=True)
    assert result.to_pandas()["top_logprobs"].tolist() == [top for c in result.choices for top in c.top_logprobs]
    assert "top_logprobs" not in model.generate(PROMPT, max_tokens=4).to_pandas()


def test_a_choice_without_them_is_equal_to_one_that_was_not_asked(model: Model) -> None:
    choice = model.generate(PROMPT, seed=2, max_tokens=4).choices[0]
    assert replace(choice, top_logprobs=None, top_bytes={}) == choice
