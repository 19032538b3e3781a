"""docs/exactness.md: its examples run, its table and its picture are what the code says."""

from __future__ import annotations

import doctest
import importlib.util
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from attacks.run import NAMES
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.protocol import Proposal
from truedraw.registry import find
from truedraw.testing import Scenario, TableDrafter, law_of, random_table, text_law, total_variation
from truedraw.testing.runs import PROMPT, run

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


class BrokenBehindOne(TableDrafter):
    """Its law is none where it has drawn token 1."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [Proposal.chain(p.tokens, [q * np.nan if t == 1 else q for q, t in zip(p.laws, p.tokens, strict=True)])
                for p in found]  # fmt: skip


@pytest.mark.parametrize(("rule", "far"), {"token": 0.070, "block": 0.066, "traversal": 0.066, "coupled": 0.0}.items())
def test_a_law_broken_behind_some_tokens_bends_the_text_as_far_as_the_page_says(rule: str, far: float) -> None:
    """And no farther than drafts are dropped."""
    scenario = Scenario("broken", random_table(3, 1, 50), random_table(3, 1, 51), draft_tokens=2, max_tokens=3)

    def text(walker):
        drafter = GuardedDrafter(BrokenBehindOne(scenario.draft), 3)
        return run(scenario, walker, find("verifiers", rule)(), drafter)[0], drafter.fault is not None

    law: dict = defaultdict(float)
    dropped = 0.0
    for (tokens, fault), weight in law_of(text).items():
        law[tokens] += weight
        dropped += weight * fault
    bias = total_variation(law, text_law(scenario, PROMPT))
    assert bias == pytest.approx(far, abs=5e-4)
    assert bias <= dropped
    assert dropped == pytest.approx(0.26, abs=0.01)
    assert f"{far:.3f}" in PAGE or not far


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
