"""docs/python.md: its examples run, its links lead somewhere, and what it says is so where that can be asked."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

from truedraw import Choice, Model, Result, TruedrawError, errors
from truedraw.engine.paged.pools import CACHE_BYTES, PREFIX_CACHE_BYTES

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_examples_give_what_the_page_says() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, None, None)
    assert len(test.examples) > 20
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


def test_every_error_of_a_request_is_named() -> None:
    for_others = {"BadProposal", "TrainingError", "TruedrawError"}
    kinds = (each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, TruedrawError))
    assert {each.__name__ for each in kinds} - for_others <= set(re.findall(r"`(\w+)`", TEXT))


def test_fields_are_those_of_results() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", TEXT.partition("## As it comes")[0], flags=re.MULTILINE)
    assert rows
    assert all(hasattr(Result, name) for name, _ in rows)
    assert all(hasattr(Choice, name) for name in re.findall(r"`(\w+)`", dict(rows)["choices"]))


def test_sizes_are_the_defaults() -> None:
    batch = inspect.signature(Model.batch).parameters
    sizes = CACHE_BYTES >> 30, PREFIX_CACHE_BYTES >> 20, batch["logits_cache_bytes"].default >> 20
    memory = TEXT.partition("## Memory")[2]
    assert re.findall(r"(\d+) [GM]iB", memory) == [str(each) for each in sizes]
    assert f"samples at once ({batch['max_running'].default})" in memory


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)#]+)\)", TEXT))))
def test_links_inside_the_project_lead_somewhere(target: str) -> None:
    assert (PAGE.parent / target).exists()
