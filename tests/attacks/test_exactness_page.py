"""docs/exactness.md: its examples run, its table and its picture are what the code says."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

from attacks.run import NAMES

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "exactness.md").read_text(encoding="utf-8")


def tool(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_examples_give_what_the_page_says() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "exactness.md", None, None)
    assert len(test.examples) > 10
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


def test_the_table_is_current() -> None:
    page = tool("exactness_page").with_table(PAGE)
    assert page == PAGE, "run: python tools/exactness_page.py"
    assert all(f"[{name}](../attacks/{name}.py)" in page for name in NAMES)


def test_the_picture_is_current_and_shows_the_numbers_of_the_page() -> None:
    drawing = tool("exactness_picture")
    assert drawing.PICTURE.read_text(encoding="utf-8") == drawing.picture(), "run: python tools/exactness_picture.py"
    assert "rejected 0.3" in drawing.picture()
    assert "residual 0.3" in drawing.picture()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)#]+)\)", PAGE))))
def test_links_inside_the_project_lead_somewhere(target: str) -> None:
    assert (ROOT / "docs" / target).exists()
