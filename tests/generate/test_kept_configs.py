"""Configs that request after request asks for are understood once, and no other one is taken for them."""

from __future__ import annotations

import pytest

from truedraw.errors import BadParameter
from truedraw.generate.speculation import part_of, speculation


def auto_of(*sources, **whole):
    return speculation({"method": "auto", "auto_sources": sources, **whole}).parts()


def test_the_usual_one_is_made_once():
    assert speculation(None) is speculation(True)
    assert speculation(None) == speculation("auto") == speculation({})


def test_parts_are_made_once_for_the_same_settings():
    one, again, other = auto_of("suffix"), auto_of("suffix"), auto_of("suffix", draft_timeout=3.0)
    assert one["suffix"] is again["suffix"]
    assert other["suffix"].draft_timeout == 3.0 != one["suffix"].draft_timeout


def test_a_number_is_no_truth_value():
    """1 and True are one key of a dictionary; one of them is refused."""
    assert part_of({"method": "suffix", "adaptive": True}).adaptive
    for _ in range(2):
        with pytest.raises(BadParameter, match="adaptive"):
            part_of({"method": "suffix", "adaptive": 1})


def test_a_refused_part_is_refused_again():
    for _ in range(2):
        with pytest.raises(BadParameter, match="no such key"):
            auto_of({"method": "suffix", "nothing": 1})


def test_a_setting_that_is_a_list():
    found = auto_of({"method": "mix", "sources": ["suffix", "recycle"]})
    assert [part.settings for part in found.values()] == [{"sources": ["suffix", "recycle"]}]
