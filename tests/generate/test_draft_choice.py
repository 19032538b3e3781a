"""What `auto` drafts with, by the draft that a model was loaded for."""

from __future__ import annotations

import pytest

from draft.head.random_heads import card, write
from truedraw.draft.head.file import SHIPPED
from truedraw.draft.several import ALWAYS_GOOD, WITH_ATTENTION, WITH_EAGLE, WITH_HEAD
from truedraw.errors import BadFile
from truedraw.generate.draft_choice import WITH_MTP, auto_sources
from truedraw.generate.making import CHAINS, takes_trees
from truedraw.generate.speculation import Speculation
from truedraw.registry import BUILT_IN, find


@pytest.mark.parametrize(
    ("kind", "second"), [("attentive", "head"), ("recurrent", "head-ngram"), ("medusa", "head-ngram")]
)
def test_a_head_that_looks_back_is_asked_alone(tmp_path, kind, second) -> None:
    """Another one is mixed with counts, which know what a text repeats."""
    assert auto_sources(write(tmp_path / "it", card(kind=kind))) == ("suffix", second)


def test_the_head_that_ships_looks_back() -> None:
    assert auto_sources(SHIPPED / "smollm2-135m.safetensors") == ("suffix", "head")


@pytest.mark.parametrize("sources", [ALWAYS_GOOD, WITH_HEAD, WITH_ATTENTION, WITH_EAGLE, WITH_MTP], ids=str)
def test_what_auto_drafts_with_is_sound(sources) -> None:
    """It is not looked at anew for each config."""
    assert tuple(Speculation().parts(sources)) == sources


@pytest.mark.parametrize("rule", BUILT_IN["verifiers"])
def test_rules_that_take_no_trees_are_told_apart(rule) -> None:
    kind = find("verifiers", rule)
    chains = tuple(find("verifiers", name) for name in CHAINS)

    class Ours(kind):
        pass

    judge = kind.__new__(kind)
    assert takes_trees(judge) == takes_trees(Ours.__new__(Ours)) == (not isinstance(judge, chains))


def test_without_a_draft_there_are_drafters_that_need_none() -> None:
    assert auto_sources(None) == ALWAYS_GOOD


def test_a_file_that_is_no_head_is_refused(tmp_path) -> None:
    (tmp_path / "it").write_bytes(b"nothing")
    with pytest.raises(BadFile, match="cannot be read as a draft head"):
        auto_sources(tmp_path / "it")
