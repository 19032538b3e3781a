"""Engines whose rounds abreast are not those that come one by one: the suite sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.decoder import PLAIN, RandomWeights, tiny_engine
from testing.failures import failures
from truedraw.engine.cpu.paged_engine import PagedEngine
from truedraw.testing import engine_checks

NAMES = {"rounds abreast", "rounds abreast with drafts", "rounds abreast that are dropped"}
STRAIGHT = PagedEngine.abreast


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Which checks fail, and how often an engine was asked, with `begin` in the place of its own `abreast`."""

    def failed(begin):
        asked = []

        def counted(self, *given):
            asked.append(begin(self, *given))
            return asked[-1]

        monkeypatch.setattr(PagedEngine, "abreast", counted)
        settings = {"numerics": "native", "hidden_layers": (0, 1)}
        checks = engine_checks(lambda: tiny_engine(tmp_path, PLAIN, RandomWeights(PLAIN, seed=3), **settings))
        found = failures([check for check in checks if check.name in NAMES], AssertionError)
        assert len(asked) == len(NAMES)
        assert all(each is not None for each in asked)
        return set(found)

    return failed


def behind_the_others(engine, sequences, tokens, drafts):
    """Its texts begin a token early."""
    found = STRAIGHT(engine, sequences, tokens, drafts)
    found.job.past[:] -= 1
    found.job.positions[:] -= 1
    return found


def of_other_texts(engine, sequences, tokens, drafts):
    """The last comes first, where all have as many rows."""
    return STRAIGHT(engine, sequences[::-1] if len(set(drafts)) == 1 else sequences, tokens, drafts)


def of_fixed_places(engine, sequences, tokens, drafts):
    """Positions that are told have no part in it."""
    found = STRAIGHT(engine, sequences, tokens, drafts)
    found.job.positions[:] = 7
    found.job = replace(found.job, positions=found.job.positions.copy())
    return found


def of_one_row(engine, sequences, tokens, drafts):
    """Logits that lie somewhere else."""
    found = STRAIGHT(engine, sequences, tokens, drafts)
    found.job = replace(found.job, logits=np.zeros_like(found.job.logits))
    return found


def of_other_states(engine, sequences, tokens, drafts):
    """Hidden states that nobody has computed."""
    found = STRAIGHT(engine, sequences, tokens, drafts)
    found.job = replace(found.job, hidden=np.full_like(found.job.hidden, 7.0))
    return found


def losing_the_last(engine, sequences, tokens, drafts):
    found = STRAIGHT(engine, sequences, tokens, drafts)
    end = found.end
    found.end = lambda kept: end([tokens[:-1] for tokens in kept])
    return found


def telling_at_once(engine, sequences, tokens, drafts):
    found = STRAIGHT(engine, sequences, tokens, drafts)
    sequences[0].commit([1])
    return found


def test_one_that_is_right(run) -> None:
    assert not run(STRAIGHT)


@pytest.mark.parametrize(("begin", "seen"), [
    (behind_the_others, {"rounds abreast"}),
    (of_other_texts, {"rounds abreast"}),
    (of_fixed_places, {"rounds abreast", "rounds abreast with drafts"}),
    (of_one_row, {"rounds abreast", "rounds abreast with drafts"}),
    (of_other_states, {"rounds abreast", "rounds abreast with drafts"}),
    (losing_the_last, {"rounds abreast", "rounds abreast with drafts"}),
    (telling_at_once, NAMES),
], ids=lambda value: getattr(value, "__name__", ""))  # fmt: skip
def test_a_broken_one_is_seen(run, begin, seen) -> None:
    assert run(begin) == seen
