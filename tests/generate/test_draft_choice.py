"""What `auto` drafts with, by the draft that a model was loaded for."""

from __future__ import annotations

import pytest

from draft.head.random_heads import card, write
from truedraw.draft.head.file import SHIPPED
from truedraw.draft.several import ALWAYS_GOOD
from truedraw.errors import BadFile
from truedraw.generate.draft_choice import auto_sources


@pytest.mark.parametrize(
    ("kind", "second"), [("attentive", "head"), ("recurrent", "head-ngram"), ("medusa", "head-ngram")]
)
def test_a_head_that_looks_back_is_asked_alone(tmp_path, kind, second) -> None:
    """Another one is mixed with counts, which know what a text repeats."""
    assert auto_sources(write(tmp_path / "it", card(kind=kind))) == ("suffix", second)


def test_the_head_that_ships_looks_back() -> None:
    assert auto_sources(SHIPPED / "smollm2-135m.safetensors") == ("suffix", "head")


def test_without_a_draft_there_are_drafters_that_need_none() -> None:
    assert auto_sources(None) == ALWAYS_GOOD


def test_a_file_that_is_no_head_is_refused(tmp_path) -> None:
    (tmp_path / "it").write_bytes(b"nothing")
    with pytest.raises(BadFile, match="cannot be read as a draft head"):
        auto_sources(tmp_path / "it")
