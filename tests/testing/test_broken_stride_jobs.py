"""Engines whose strides give compiled code other passes than their own: the suite sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.decoder import PLAIN, RandomWeights, tiny_engine
from testing.failures import failures
from truedraw.engine.paged.stride import PagedStride
from truedraw.testing import engine_checks

NAME = "rounds at a stride of compiled code"
STRAIGHT = PagedStride.job


@pytest.fixture
def run(tmp_path, monkeypatch):
    """What the check says, with `job` in the place of a stride's own."""

    def failed(job):
        asked = []

        def counted(self, drafts):
            asked.append(job(self, drafts))
            return asked[-1]

        monkeypatch.setattr(PagedStride, "job", counted)
        settings = {"numerics": "native", "hidden_layers": (0, 1)}
        checks = engine_checks(lambda: tiny_engine(tmp_path, PLAIN, RandomWeights(PLAIN, seed=3), **settings))
        found = failures([check for check in checks if check.name == NAME], AssertionError)
        assert asked
        assert None not in asked
        return set(found)

    return failed


def of_other_logits(stride, drafts):
    found = STRAIGHT(stride, drafts)
    return replace(found, logits=np.zeros_like(found.logits))


def of_other_states(stride, drafts):
    found = STRAIGHT(stride, drafts)
    return replace(found, hidden=np.full_like(found.hidden, 7.0))


def of_no_past(stride, drafts):
    """What is told of the text before has no part in it."""
    found = STRAIGHT(stride, drafts)
    found.past[:] = 5
    return replace(found, past=found.past.copy())


def of_one_token(stride, drafts):
    """Tokens that are told have no part in it."""
    found = STRAIGHT(stride, drafts)
    found.ids[:] = 0
    return replace(found, ids=found.ids.copy())


def test_one_that_is_right(run) -> None:
    assert not run(STRAIGHT)


@pytest.mark.parametrize("job", [of_other_logits, of_other_states, of_no_past, of_one_token])
def test_a_broken_one_is_seen(run, job) -> None:
    assert run(job) == {NAME}
