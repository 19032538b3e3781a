"""A controller is told of passes that computed prompts and scored nobody, where it wants to know."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from truedraw import load
from truedraw.control.fixed import FixedController
from truedraw.control.payoff import PayoffController
from truedraw.generate.loop import tell
from truedraw.generate.sample import Turn
from truedraw.models.toy import TOY_MODEL
from truedraw.protocol import HearsPrompts

PROMPT = "the cat sat on the mat and the dog " * 4


def test_it_hears_of_the_prompt_that_samples_share_and_of_none_that_was_scored(monkeypatch) -> None:
    heard: list[int] = []
    monkeypatch.setattr(PayoffController, "prompts", lambda _, rows: heard.append(rows))
    assert isinstance(PayoffController(), HearsPrompts)
    with load(TOY_MODEL) as model:
        model.generate(PROMPT, n=1, seed=1, max_tokens=4)
        assert not heard
        model.generate(PROMPT, n=3, seed=2, max_tokens=4)
        assert heard == [len(model.tokenizer.encode(PROMPT)) - 1]


def test_it_hears_of_no_prompt_where_no_pass_was_needed() -> None:
    """Rows that were known, of texts that failed all the same."""
    heard: list[int] = []
    controller = SimpleNamespace(prompts=heard.append)
    for rows in (0, 3):
        tell(controller, Turn([], rows=rows), [])
    assert heard == [3]


@pytest.mark.parametrize("name", ["rest", "budget", "choose"])
def test_one_that_fails_before_a_pass_with_a_prompt_ends_those_whom_it_decides_for(monkeypatch, name) -> None:
    """There is nothing to charge for; the batch goes on."""
    settings = {"seed": 1, "max_tokens": 20, "ignore_eos": True}
    drafting = {"method": "suffix", "adaptive": False, "num_speculative_tokens": 2}

    def broken(*_):
        raise RuntimeError("out of order")

    with load(TOY_MODEL) as model, model.batch(logits_cache_bytes=0) as batch:
        runs = [batch.add(PROMPT, speculative=drafting, **settings)]
        for _ in range(4):
            batch.step()
        runs.append(batch.add(PROMPT[1:], speculative=drafting, n=2, **settings))
        with monkeypatch.context() as patched:
            patched.setattr(FixedController, name, broken)
            batch.step()
        assert ["out of order" in str(run.error) for run in runs] == [True, True]
        last = batch.add(PROMPT, speculative=drafting, **settings)
        while batch.step():
            pass
        assert (
            last.result().choices[0].tokens
            == model.generate(PROMPT, speculative=drafting, **settings).choices[0].tokens
        )
